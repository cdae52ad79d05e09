// SampleArray: one array of numbers whose first dimension counts the samples, wherever it lies: a
// .npy file (npy_file.h), a data set of an HDF5 file (hdf5_array.h), columns of a .csv file
// (csv_table.h), or several of these one behind the other (array_shards.h). OpenArray
// (array_opener.h) makes one from a path.
//
// The numbers of a sample lie behind each other in C order, on any border. An array never changes
// once it is open, and any number of threads may read it at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "server/data/data_source.h"

namespace murmurate {

enum class SampleElement : std::uint8_t { kFloat32, kFloat64, kUint8, kInt32, kInt64, kBool };
inline bool IsFloat(SampleElement element) { return element <= SampleElement::kFloat64; }
/// "float32"
const char* NameOf(SampleElement element);
std::size_t BytesOf(SampleElement element);
/// "(100, 4)", as Python writes a shape.
std::string InWords(const std::vector<std::uint64_t>& shape);
/// The float32 that is nearest to a number; an infinity where none holds it.
float NearestFloat(double number);

class SampleArray {
 public:
  virtual ~SampleArray() = default;

  /// The path that was given, with the name of the data set or the columns.
  const std::string& name() const { return name_; }
  SampleElement element() const { return element_; }
  /// The shape without the first dimension: {} when a sample is one number.
  const std::vector<int>& sample_shape() const { return sample_shape_; }
  std::uint64_t samples() const { return samples_; }
  std::size_t sample_elements() const { return sample_elements_; }
  std::size_t sample_bytes() const { return sample_elements_ * BytesOf(element_); }

  /// Where the numbers of a sample lie; null when they cannot be read, and Fault says why.
  virtual const std::byte* Sample(std::uint64_t i) const = 0;
  /// Samples from i on whose numbers lie behind each other and are read at once.
  virtual std::uint64_t TogetherFrom(std::uint64_t i) const { return samples_ - i; }
  /// Why a call of Sample returned null, in one sentence.
  virtual Status Fault() const { return {}; }
  /// The files in which it lies, in order, as they were when they were opened.
  virtual std::vector<DataFile> files() const = 0;
  /// What of files is mapped, and read when it is touched; {}: it lies in memory.
  virtual std::vector<std::span<const std::byte>> mappings() const { return {}; }
  /// Sentences for the log on how the numbers are read.
  virtual std::vector<std::string> Notes() const;

  /// Writes the numbers at `sample` (what Sample returned) of a float32 or float64 array as float32
  /// to `to`, which may lie anywhere. One that a float32 does not hold becomes infinite.
  void CopyFloats(const std::byte* sample, void* to) const;
  /// Number k of the sample at `sample` of an int32, int64, uint8 or bool array.
  std::int64_t Integer(const std::byte* sample, std::size_t k) const;

 protected:
  explicit SampleArray(std::string name) : name_(std::move(name)) {}
  SampleArray(SampleArray&&) = default;
  SampleArray& operator=(SampleArray&&) = default;
  void SetElement(SampleElement element) { element_ = element; }
  /// kInvalidArgument unless it has 1 to 8 dimensions, the first of which counts some samples, of 1
  /// to 65536 numbers each.
  Status SetShape(const std::vector<std::uint64_t>& shape);

 private:
  std::string name_;
  SampleElement element_ = SampleElement::kFloat32;
  std::vector<int> sample_shape_;
  std::uint64_t samples_ = 0;
  std::size_t sample_elements_ = 1;
};

}  // namespace murmurate
