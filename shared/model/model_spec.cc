#include "shared/model/model_spec.h"

#include <bit>
#include <cstring>
#include <optional>

#include "shared/core/check.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::string_view kFirstLine = "murmurate-model 1";
constexpr std::size_t kMaxTextBytes = 16 * 1024;
constexpr std::size_t kMaxLayers = 64;
constexpr std::uint64_t kMaxUnits = 65536;
constexpr std::size_t kMaxParameters = std::size_t{1} << 28;  // 1 GiB

const char* ActivationName(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return "none";
    case Activation::kTanh:
      return "tanh";
    case Activation::kRelu:
      return "relu";
  }
  return "none";
}

std::optional<Activation> ActivationNamed(std::string_view name) {
  for (const Activation a : {Activation::kNone, Activation::kTanh, Activation::kRelu}) {
    if (name == ActivationName(a)) return a;
  }
  return std::nullopt;
}

Status Unexpected(std::string_view got, const std::string& expected) {
  return InvalidData("the model's text has " + Quote(got) + " where " + expected +
                     " was expected: it was made by another version or is damaged");
}

std::optional<DenseLayer> ParseDense(std::string_view line) {
  const std::vector<std::string_view> words = SplitWords(line);
  if (words.size() != 3 || words[0] != "dense") return std::nullopt;
  const auto units = ParseCount(words[1], kMaxUnits);
  const auto activation = ActivationNamed(words[2]);
  if (!units || *units == 0 || !activation) return std::nullopt;
  return DenseLayer{static_cast<int>(*units), *activation};
}

Status ParseFlag(std::string_view line, std::string_view name, bool* flag) {
  const std::string prefix = std::string(name) + " ";
  if (line != prefix + "0" && line != prefix + "1") {
    return Unexpected(line, Quote(prefix + "0") + " or " + Quote(prefix + "1"));
  }
  *flag = line.back() == '1';
  return Status();
}

Status ParseTrunk(const std::vector<std::string_view>& lines, std::vector<DenseLayer>* trunk) {
  const std::size_t layers = lines.size() - 5;
  if (layers > kMaxLayers) {
    return InvalidData("the model has " + std::to_string(layers) +
                       " lines of layers where at most 64 were expected: use fewer layers");
  }
  for (std::size_t i = 3; i < 3 + layers; ++i) {
    const auto layer = ParseDense(lines[i]);
    if (!layer) return Unexpected(lines[i], "\"dense UNITS none|tanh|relu\" of 1 to 65536 units");
    trunk->push_back(*layer);
  }
  return Status();
}

}  // namespace

std::string ModelSpec::ToText() const {
  std::string text = std::string(kFirstLine) + "\n" + spaces.ToText();
  for (const DenseLayer& layer : trunk) {
    text += "dense " + std::to_string(layer.units) + " " + ActivationName(layer.activation) + "\n";
  }
  text += std::string("separate_value ") + (separate_value ? "1" : "0") + "\n";
  text += std::string("normalize_observation ") + (normalize_observation ? "1" : "0") + "\n";
  return text;
}

Result<ModelSpec> ModelSpec::Parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return InvalidData("the model's text takes " + std::to_string(text.size()) +
                       " bytes where at most 16384 were expected: it is damaged");
  }
  const std::vector<std::string_view> lines = SplitLines(text);
  if (lines.empty() || lines[0] != kFirstLine) {
    return Unexpected(lines.empty() ? "" : lines[0], Quote(kFirstLine));
  }
  if (lines.size() < 5) {
    return InvalidData("the model's text has " + std::to_string(lines.size()) +
                       " lines where 5 or more were expected: it is cut off");
  }
  Result<Spaces> spaces = Spaces::Parse(std::string(lines[1]) + "\n" + std::string(lines[2]));
  if (!spaces.ok()) return spaces.status();
  MURMURATE_RETURN_IF_ERROR(CheckSpaces(*spaces));
  ModelSpec spec;
  spec.spaces = *spaces;
  MURMURATE_RETURN_IF_ERROR(ParseTrunk(lines, &spec.trunk));
  const std::size_t count = lines.size();
  MURMURATE_RETURN_IF_ERROR(ParseFlag(lines[count - 2], "separate_value", &spec.separate_value));
  MURMURATE_RETURN_IF_ERROR(
      ParseFlag(lines[count - 1], "normalize_observation", &spec.normalize_observation));
  const std::size_t total = ParameterLayout(spec).total;
  if (total > kMaxParameters) {
    return InvalidData("the model has " + std::to_string(total) +
                       " parameters where at most 268435456 were expected: use fewer units");
  }
  return spec;
}

Sha256Digest ModelSpec::Hash() const { return Sha256(ToText()); }

std::uint64_t ModelSpec::ShortHash() const {
  static_assert(std::endian::native == std::endian::little);
  const Sha256Digest digest = Hash();
  std::uint64_t first = 0;
  std::memcpy(&first, digest.data(), sizeof(first));
  return first;
}

}  // namespace murmurate
