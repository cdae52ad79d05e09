// NpyFile: one array in NumPy's .npy format (versions 1, 2 and 3; numpy.lib.format), mapped.
//
//   "\x93NUMPY" major minor | header length (u16; u32 from version 2) | {'descr': '<f4',
//   'fortran_order': False, 'shape': (100, 4), } padded with spaces, ending in a newline | numbers
//
// Taken are little-endian float32, float64, int32 and int64, uint8 and bool, in C order, with 1 to 8
// dimensions, the first of which counts the samples. The header is at most 64 KiB, its numbers are
// bounded, and the file has exactly the bytes that its shape needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "server/data/mapped_file.h"
#include "server/data/sample_array.h"

namespace murmurate {

class NpyFile : public SampleArray {
 public:
  /// kInvalidArgument: no such file, or an array that is not taken; kInvalidData: damaged. The
  /// sentence names the file, what was found, and what to do.
  static Result<NpyFile> Open(const std::string& path);

  const std::byte* Sample(std::uint64_t i) const override { return numbers_ + i * sample_bytes_; }
  std::vector<DataFile> files() const override;
  std::vector<std::span<const std::byte>> mappings() const override { return {file_.bytes()}; }

 private:
  NpyFile(const std::string& path, MappedFile file) : SampleArray(path), file_(std::move(file)) {}
  Status Read();
  Status ReadHeader(std::string_view header);
  Status ReadElement(const std::string& descr);
  Status Damaged(const std::string& what) const;

  MappedFile file_;
  std::uint64_t fingerprint_ = 0;  ///< when it was opened
  std::size_t sample_bytes_ = 0;
  const std::byte* numbers_ = nullptr;
};

}  // namespace murmurate
