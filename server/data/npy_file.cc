#include "server/data/npy_file.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "server/data/fingerprint.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie");
constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 1 << 16;
constexpr std::uint64_t kMaxDimension = std::uint64_t{1} << 40;

/// The few literals of Python that a header is made of.
class Literals {
 public:
  explicit Literals(std::string_view text) : text_(text) {}

  bool Consume(char c) {
    SkipBlanks();
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool ConsumeWord(std::string_view word) {
    SkipBlanks();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> ParseString() {
    SkipBlanks();
    if (text_.empty() || (text_.front() != '\'' && text_.front() != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_.front(), 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string string(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return string;
  }
  std::optional<std::uint64_t> ParseNumber() {
    SkipBlanks();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
    if (error != std::errc() || number > kMaxDimension) return std::nullopt;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return number;
  }
  /// (3, 4), (3,) or ()
  std::optional<std::vector<std::uint64_t>> ParseShape() {
    std::vector<std::uint64_t> shape;
    if (!Consume('(')) return std::nullopt;
    while (!Consume(')')) {
      const auto number = ParseNumber();
      if (!number || shape.size() == 64) return std::nullopt;
      shape.push_back(*number);
      if (Consume(',')) continue;
      if (!Consume(')')) return std::nullopt;
      break;
    }
    return shape;
  }
  bool done() {
    SkipBlanks();
    return text_.empty();
  }
  std::string_view rest() const { return text_; }

 private:
  void SkipBlanks() {
    while (!text_.empty() && (text_.front() == ' ' || text_.front() == '\n'))
      text_.remove_prefix(1);
  }
  std::string_view text_;
};

std::string InWords(const std::vector<std::uint64_t>& shape) {
  std::string text;
  for (const std::uint64_t size : shape) text += (text.empty() ? "" : ", ") + std::to_string(size);
  return '(' + text + (shape.size() == 1 ? ",)" : ")");
}

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The nearest one; a conversion out of range is undefined.
float ToFloat(double number) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::abs(number) <= kLargest || std::isnan(number)) return static_cast<float>(number);
  return std::copysign(std::numeric_limits<float>::infinity(),
                       static_cast<float>(number < 0 ? -1 : 1));
}

}  // namespace

const char* NameOf(NpyElement element) {
  switch (element) {
    case NpyElement::kFloat32:
      return "float32";
    case NpyElement::kFloat64:
      return "float64";
    case NpyElement::kUint8:
      return "uint8";
    case NpyElement::kInt32:
      return "int32";
    case NpyElement::kInt64:
      return "int64";
  }
  return "";
}

Result<NpyFile> NpyFile::Open(const std::string& path) {
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  NpyFile array(path, *std::move(file));
  MURMURATE_RETURN_IF_ERROR(array.Read());
  array.fingerprint_ = FingerprintOf(array.file_.bytes());
  return array;
}

Status NpyFile::Damaged(const std::string& what) const {
  return InvalidData(path_ + ": " + what + "; write the file again with numpy.save");
}

Status NpyFile::Read() {
  const std::span<const std::byte> bytes = file_.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || bytes.size() < 12) return Damaged("is no .npy file");
  const int major = std::to_integer<int>(bytes[6]);
  if (major < 1 || major > 3)
    return Damaged("is of .npy version " + std::to_string(major) + ", expected 1 to 3");
  const std::size_t begin = major == 1 ? 10 : 12;
  const std::size_t length =
      major == 1 ? Load<std::uint16_t>(&bytes[8]) : Load<std::uint32_t>(&bytes[8]);
  if (length > kMaxHeaderBytes || length > bytes.size() - begin)
    return Damaged("its header is said to take " + std::to_string(length) +
                   " bytes, expected at most 65536 and no more than the file has");
  MURMURATE_RETURN_IF_ERROR(ReadHeader(text.substr(begin, length)));
  numbers_ = bytes.data() + begin + length;
  const std::size_t have = bytes.size() - begin - length;
  const std::uint64_t need = samples_ * sample_bytes_;
  if (have == need) return {};
  return Damaged("has " + std::to_string(have) + " bytes of numbers where its shape needs " +
                 std::to_string(need));
}

Status NpyFile::ReadHeader(std::string_view header) {
  Literals words(header);
  std::optional<std::string> descr;
  std::optional<std::vector<std::uint64_t>> shape;
  bool fortran = false, ordered = false, good = words.Consume('{');
  while (good && !words.Consume('}')) {
    const auto key = words.ParseString();
    good = key.has_value() && words.Consume(':');
    if (!good) break;
    if (*key == "descr") {
      descr = words.ParseString();
      if (!descr && words.Consume('['))
        return InvalidArgument(path_ + ": is an array of records, expected plain numbers; save " +
                               "each field to a file of its own");
      good = descr.has_value();
    } else if (*key == "fortran_order") {
      fortran = words.ConsumeWord("True");
      good = ordered = fortran || words.ConsumeWord("False");
    } else if (*key == "shape") {
      shape = words.ParseShape();
      good = shape.has_value();
    } else {
      good = false;
    }
    if (!words.Consume(',') && good) {
      good = words.Consume('}');
      break;
    }
  }
  if (!good || !descr || !shape || !ordered || !words.done())
    return Damaged("its header cannot be read near \"" + std::string(words.rest().substr(0, 40)) +
                   '"');
  if (fortran)
    return InvalidArgument(path_ + ": is in Fortran order, expected C order; save " +
                           "numpy.ascontiguousarray(array)");
  MURMURATE_RETURN_IF_ERROR(SetElement(*descr));
  return SetShape(*shape);
}

Status NpyFile::SetElement(const std::string& descr) {
  if (descr == "<f4" || descr == "=f4") {
    element_ = NpyElement::kFloat32;
    sample_bytes_ = 4;
  } else if (descr == "<f8" || descr == "=f8") {
    element_ = NpyElement::kFloat64;
    sample_bytes_ = 8;
  } else if (descr == "|u1" || descr == "<u1") {
    element_ = NpyElement::kUint8;
    sample_bytes_ = 1;
  } else if (descr == "<i4" || descr == "=i4") {
    element_ = NpyElement::kInt32;
    sample_bytes_ = 4;
  } else if (descr == "<i8" || descr == "=i8") {
    element_ = NpyElement::kInt64;
    sample_bytes_ = 8;
  } else {
    return InvalidArgument(path_ + ": holds numbers of type '" + descr.substr(0, 16) +
                           "', expected '<f4' or '<f8' (float32, float64), '|u1' (uint8), "
                           "'<i4' or '<i8' (int32, int64); save array.astype(numpy.float32)");
  }
  return {};
}

Status NpyFile::SetShape(const std::vector<std::uint64_t>& shape) {
  if (shape.empty() || shape.size() > 8 || shape[0] == 0)
    return InvalidArgument(path_ + ": its shape is " + InWords(shape) +
                           ", expected 1 to 8 dimensions, the first the samples, of which there "
                           "must be some");
  samples_ = shape[0];
  for (std::size_t i = 1; i < shape.size(); ++i) {
    sample_elements_ *= shape[i];
    if (shape[i] < 1 || shape[i] > 65536 || sample_elements_ > 65536)
      return InvalidArgument(path_ + ": its shape is " + InWords(shape) +
                             ", expected 1 to 65536 numbers a sample");
    sample_shape_.push_back(static_cast<int>(shape[i]));
  }
  sample_bytes_ *= sample_elements_;
  return {};
}

void NpyFile::CopyFloats(std::uint64_t i, void* to) const {
  if (element_ == NpyElement::kFloat32) {
    std::memcpy(to, sample(i), sample_bytes_);
    return;
  }
  MURMURATE_CHECK(element_ == NpyElement::kFloat64, "an array of numbers that are no floats");
  auto* const bytes = static_cast<std::byte*>(to);
  for (std::size_t k = 0; k < sample_elements_; ++k) {
    const float number = ToFloat(Load<double>(sample(i) + k * sizeof(double)));
    std::memcpy(bytes + k * sizeof(float), &number, sizeof(float));
  }
}

std::int64_t NpyFile::Integer(std::uint64_t i) const {
  if (element_ == NpyElement::kInt64) return Load<std::int64_t>(numbers_ + i * 8);
  if (element_ == NpyElement::kInt32) return Load<std::int32_t>(numbers_ + i * 4);
  MURMURATE_CHECK(element_ == NpyElement::kUint8, "an array of numbers that are no integers");
  return std::to_integer<std::int64_t>(numbers_[i]);
}

}  // namespace murmurate
