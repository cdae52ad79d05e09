#include "shared/model/model_lines.h"

#include <algorithm>
#include <iterator>

#include "shared/core/check.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kMaxStack = 16;

/// A line that stands between lists of layers.
bool EndsLayers(std::string_view line) {
  static constexpr std::string_view kBegins[] = {"input ", "head ", "network ", "separate_value "};
  return line.empty() || line == "trunk" ||
         std::any_of(std::begin(kBegins), std::end(kBegins),
                     [&](std::string_view word) { return line.starts_with(word); });
}

}  // namespace

ModelLines::ModelLines(std::string_view text) : lines_(SplitLines(text)) {}

Status ModelLines::Unexpected(std::string_view got, const std::string& expected) {
  return InvalidData("the model's text has " + Quote(got) + " where " + expected +
                     " was expected: it was made by another version or is damaged");
}

bool ModelLines::NextIs(std::string_view line) {
  if (done() || peek() != line) return false;
  ++next_;
  return true;
}

Status ModelLines::ReadFlag(std::string_view name, bool* flag) {
  const std::string_view line = Next();
  const std::string prefix = std::string(name) + " ";
  if (line != prefix + "0" && line != prefix + "1") {
    return Unexpected(line, Quote(prefix + "0") + " or " + Quote(prefix + "1"));
  }
  *flag = line.back() == '1';
  return Status();
}

Status ModelLines::ReadSpaces(Spaces* spaces) {
  std::string text;
  const auto next_is = [&](std::string_view side) { return peek().starts_with(side); };
  while (next_is("observation") || next_is("action") || next_is("privileged"))
    text += std::string(Next()) + "\n";
  Result<Spaces> parsed = Spaces::Parse(text);
  if (!parsed.ok()) return parsed.status();
  *spaces = *std::move(parsed);
  return Status();
}

Status ModelLines::ReadLayers(std::vector<Layer>* layers) {
  while (!EndsLayers(peek())) {
    Result<Layer> layer = Layer::Parse(Next());
    if (!layer.ok()) return layer.status();
    layers->push_back(*layer);
    if (layers->size() > kMaxLayers) {
      return InvalidData("the model has more than 256 layers in a row: use fewer");
    }
  }
  return Status();
}

Status ModelLines::ReadEncoder(std::vector<InputEncoder>* encoders) {
  const std::string_view line = Next();
  const std::vector<std::string_view> words = SplitWords(line);
  const bool shaped = words.size() == 4 && words[2] == "stack" && !words[1].empty();
  const auto stack = shaped ? ParseCount(words[3], kMaxStack) : std::nullopt;
  if (!stack || *stack == 0) return Unexpected(line, "\"input NAME stack 1..16\"");
  InputEncoder encoder;
  if (words[1] != kUnnamedInput) encoder.input = std::string(words[1]);
  encoder.stack = static_cast<int>(*stack);
  MURMURATE_RETURN_IF_ERROR(ReadLayers(&encoder.layers));
  encoders->push_back(std::move(encoder));
  return Status();
}

Status ModelLines::ReadEncodersAndTrunk(std::vector<InputEncoder>* encoders,
                                        std::vector<Layer>* trunk) {
  while (peek().starts_with("input ")) MURMURATE_RETURN_IF_ERROR(ReadEncoder(encoders));
  if (!encoders->empty() && !NextIs("trunk")) {
    return InvalidData("the model's text has inputs but no line \"trunk\": it is cut off");
  }
  return ReadLayers(trunk);
}

Status ModelLines::ReadContinuous(const Space& action, ContinuousSettings* continuous) {
  if (!HasNumbers(action)) return Status();
  MURMURATE_RETURN_IF_ERROR(
      ReadFlag("state_dependent_deviation", &continuous->state_dependent_deviation));
  MURMURATE_RETURN_IF_ERROR(ReadFlag("squashed", &continuous->squashed));
  continuous->scaled = NextIs(kScaleLine);
  continuous->deterministic = NextIs(kDeterministicLine);
  return Status();
}

void ModelLines::ReadPrevious(PreviousInputs* previous) {
  for (const PreviousInputs some : {PreviousInputs{true, false}, {false, true}, {true, true}})
    if (NextIs(PreviousLine(some))) return void(*previous = some);
}

std::string PreviousLine(PreviousInputs previous) {
  if (!previous.any()) return "";
  return std::string("previous") + (previous.action ? " action" : "") +
         (previous.reward ? " reward" : "");
}

bool HasNumbers(const Space& action) {
  for (int i = 0; i < action.leaf_count(); ++i) {
    if (action.leaf(i).kind == Space::Kind::kBox) return true;
  }
  return false;
}

}  // namespace murmurate
