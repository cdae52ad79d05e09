#include "server/data/sample_array.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "shared/core/check.h"

namespace murmurate {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie");
constexpr std::uint64_t kMostElements = 65536;

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

const char* NameOf(SampleElement element) {
  switch (element) {
    case SampleElement::kFloat32:
      return "float32";
    case SampleElement::kFloat64:
      return "float64";
    case SampleElement::kUint8:
      return "uint8";
    case SampleElement::kInt32:
      return "int32";
    case SampleElement::kInt64:
      return "int64";
    case SampleElement::kBool:
      return "bool";
  }
  return "";
}

std::size_t BytesOf(SampleElement element) {
  switch (element) {
    case SampleElement::kUint8:
    case SampleElement::kBool:
      return 1;
    case SampleElement::kFloat32:
    case SampleElement::kInt32:
      return 4;
    case SampleElement::kFloat64:
    case SampleElement::kInt64:
      return 8;
  }
  return 0;
}

std::string InWords(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return '(' + text + (shape.size() == 1 ? ",)" : ")");
}

float NearestFloat(double number) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  // A conversion out of range is undefined.
  if (std::abs(number) <= kLargest || std::isnan(number)) return static_cast<float>(number);
  return std::copysign(std::numeric_limits<float>::infinity(),
                       static_cast<float>(number < 0 ? -1 : 1));
}

Status SampleArray::SetShape(const std::vector<std::uint64_t>& shape) {
  if (shape.empty() || shape.size() > 8 || shape[0] == 0)
    return InvalidArgument(name_ + ": its shape is " + InWords(shape) +
                           ", expected 1 to 8 dimensions, the first the samples, of which there "
                           "must be some");
  samples_ = shape[0];
  for (std::size_t i = 1; i < shape.size(); ++i) {
    sample_elements_ *= shape[i];
    if (shape[i] < 1 || shape[i] > kMostElements || sample_elements_ > kMostElements)
      return InvalidArgument(name_ + ": its shape is " + InWords(shape) +
                             ", expected 1 to 65536 numbers a sample");
    sample_shape_.push_back(static_cast<int>(shape[i]));
  }
  return {};
}

std::vector<std::string> SampleArray::Notes() const {
  if (element_ != SampleElement::kFloat64) return {};
  return {name_ + ": its float64 numbers are learned from as float32"};
}

void SampleArray::CopyFloats(const std::byte* sample, void* to) const {
  if (element_ == SampleElement::kFloat32) {
    std::memcpy(to, sample, sample_elements_ * sizeof(float));
    return;
  }
  MURMURATE_CHECK(element_ == SampleElement::kFloat64, "an array of numbers that are no floats");
  auto* const bytes = static_cast<std::byte*>(to);
  for (std::size_t k = 0; k < sample_elements_; ++k) {
    const float number = NearestFloat(Load<double>(sample + k * sizeof(double)));
    std::memcpy(bytes + k * sizeof(float), &number, sizeof(float));
  }
}

std::int64_t SampleArray::Integer(const std::byte* sample, std::size_t k) const {
  if (element_ == SampleElement::kInt64) return Load<std::int64_t>(sample + k * 8);
  if (element_ == SampleElement::kInt32) return Load<std::int32_t>(sample + k * 4);
  MURMURATE_CHECK(BytesOf(element_) == 1, "an array of numbers that are no integers");
  return std::to_integer<std::int64_t>(sample[k]);
}

}  // namespace murmurate
