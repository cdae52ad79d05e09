// NpyFile: one array in NumPy's .npy format (versions 1, 2 and 3; numpy.lib.format), mapped.
//
//   "\x93NUMPY" major minor | header length (u16; u32 from version 2) | {'descr': '<f4',
//   'fortran_order': False, 'shape': (100, 4), } padded with spaces, ending in a newline | numbers
//
// Taken are little-endian float32, float64, int32 and int64, and uint8, in C order, with 1 to 8
// dimensions, the first of which counts the samples. The header is at most 64 KiB, its numbers are
// bounded, and the file has exactly the bytes that its shape needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/data/mapped_file.h"

namespace murmurate {

enum class NpyElement : std::uint8_t { kFloat32, kFloat64, kUint8, kInt32, kInt64 };
inline bool IsFloat(NpyElement element) { return element <= NpyElement::kFloat64; }
/// "float32"
const char* NameOf(NpyElement element);

class NpyFile {
 public:
  /// kInvalidArgument: no such file, or an array that is not taken; kInvalidData: damaged. The
  /// sentence names the file, what was found, and what to do.
  static Result<NpyFile> Open(const std::string& path);

  const std::string& path() const { return path_; }
  NpyElement element() const { return element_; }
  /// The shape without the first dimension: {} when a sample is one number.
  const std::vector<int>& sample_shape() const { return sample_shape_; }
  std::uint64_t samples() const { return samples_; }
  std::size_t sample_elements() const { return sample_elements_; }
  std::size_t sample_bytes() const { return sample_bytes_; }
  std::size_t file_bytes() const { return file_.bytes().size(); }  ///< with the header
  std::uint64_t fingerprint() const { return fingerprint_; }       ///< when it was opened
  /// May lie on any border.
  const std::byte* sample(std::uint64_t i) const { return numbers_ + i * sample_bytes_; }
  /// Writes a sample of a float32 or float64 array as float32 to `to`, which may lie anywhere.
  /// One that a float32 does not hold becomes infinite.
  void CopyFloats(std::uint64_t i, void* to) const;
  /// One number of an int32, int64 or uint8 array.
  std::int64_t Integer(std::uint64_t i) const;

 private:
  NpyFile(std::string path, MappedFile file) : path_(std::move(path)), file_(std::move(file)) {}
  Status Read();
  Status ReadHeader(std::string_view header);
  Status SetElement(const std::string& descr);
  Status SetShape(const std::vector<std::uint64_t>& shape);
  Status Damaged(const std::string& what) const;

  std::string path_;
  MappedFile file_;
  std::uint64_t fingerprint_ = 0;
  NpyElement element_ = NpyElement::kFloat32;
  std::vector<int> sample_shape_;
  std::uint64_t samples_ = 0;
  std::size_t sample_elements_ = 1, sample_bytes_ = 0;
  const std::byte* numbers_ = nullptr;
};

}  // namespace murmurate
