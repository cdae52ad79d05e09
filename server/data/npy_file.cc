#include "server/data/npy_file.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "server/data/fingerprint.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

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

template <typename T>
T Load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

Result<NpyFile> NpyFile::Open(const std::string& path) {
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  NpyFile array(path, *std::move(file));
  MURMURATE_RETURN_IF_ERROR(array.Read());
  array.fingerprint_ = FingerprintOf(array.file_.bytes());
  return array;
}

Status NpyFile::Damaged(const std::string& what) const {
  return InvalidData(name() + ": " + what + "; write the file again with numpy.save");
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
  sample_bytes_ = sample_bytes();
  const std::uint64_t need = samples() * sample_bytes_;
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
        return InvalidArgument(name() + ": is an array of records, expected plain numbers; save " +
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
    return InvalidArgument(name() + ": is in Fortran order, expected C order; save " +
                           "numpy.ascontiguousarray(array)");
  MURMURATE_RETURN_IF_ERROR(ReadElement(*descr));
  return SetShape(*shape);
}

Status NpyFile::ReadElement(const std::string& descr) {
  if (descr == "<f4" || descr == "=f4") {
    SetElement(SampleElement::kFloat32);
  } else if (descr == "<f8" || descr == "=f8") {
    SetElement(SampleElement::kFloat64);
  } else if (descr == "|u1" || descr == "<u1") {
    SetElement(SampleElement::kUint8);
  } else if (descr == "<i4" || descr == "=i4") {
    SetElement(SampleElement::kInt32);
  } else if (descr == "<i8" || descr == "=i8") {
    SetElement(SampleElement::kInt64);
  } else if (descr == "|b1") {
    SetElement(SampleElement::kBool);
  } else {
    return InvalidArgument(name() + ": holds numbers of type '" + descr.substr(0, 16) +
                           "', expected '<f4' or '<f8' (float32, float64), '|u1' (uint8), "
                           "'<i4' or '<i8' (int32, int64); save array.astype(numpy.float32)");
  }
  return {};
}

std::vector<DataFile> NpyFile::files() const {
  return {{name(), file_.bytes().size(), samples(), fingerprint_}};
}

}  // namespace murmurate
