#include "shared/model/model_spec.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "shared/core/check.h"
#include "shared/model/network_plan.h"
#include "shared/model/observation_layout.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::string_view kFirstLine = "murmurate-model 1";
constexpr std::size_t kMaxTextBytes = 16 * 1024;
constexpr std::size_t kMaxLayers = 256;
constexpr std::uint64_t kMaxStack = 16;
constexpr std::int64_t kMaxParameters = std::int64_t{1} << 28;  // 1 GiB
constexpr std::string_view kUnnamed = "-";
constexpr std::string_view kScaleLine = "scale box";

Status Unexpected(std::string_view got, const std::string& expected) {
  return InvalidData("the model's text has " + Quote(got) + " where " + expected +
                     " was expected: it was made by another version or is damaged");
}

Status ParseFlag(std::string_view line, std::string_view name, bool* flag) {
  const std::string prefix = std::string(name) + " ";
  if (line != prefix + "0" && line != prefix + "1") {
    return Unexpected(line, Quote(prefix + "0") + " or " + Quote(prefix + "1"));
  }
  *flag = line.back() == '1';
  return Status();
}

/// A model's text, line by line.
class Lines {
 public:
  explicit Lines(std::vector<std::string_view> lines) : lines_(std::move(lines)) {}

  bool done() const { return next_ == lines_.size(); }
  std::string_view peek() const { return done() ? std::string_view() : lines_[next_]; }
  std::string_view Take() { return done() ? std::string_view() : lines_[next_++]; }
  Status TakeFlag(std::string_view name, bool* flag) { return ParseFlag(Take(), name, flag); }

 private:
  const std::vector<std::string_view> lines_;
  std::size_t next_ = 0;
};

Status ParseSpaces(Lines* lines, Spaces* spaces) {
  std::string text;
  while (lines->peek().starts_with("observation") || lines->peek().starts_with("action")) {
    text += std::string(lines->Take()) + "\n";
  }
  Result<Spaces> parsed = Spaces::Parse(text);
  if (!parsed.ok()) return parsed.status();
  *spaces = *std::move(parsed);
  return Status();
}

/// Layers up to the line that is none.
Status ParseLayers(Lines* lines, std::vector<Layer>* layers) {
  const auto ends = [](std::string_view line) {
    return line.empty() || line == "trunk" || line.starts_with("input ") ||
           line.starts_with("separate_value");
  };
  while (!ends(lines->peek())) {
    Result<Layer> layer = Layer::Parse(lines->Take());
    if (!layer.ok()) return layer.status();
    layers->push_back(*layer);
    if (layers->size() > kMaxLayers) {
      return InvalidData("the model has more than 256 layers in a row: use fewer");
    }
  }
  return Status();
}

Status ParseEncoder(Lines* lines, std::vector<InputEncoder>* encoders) {
  const std::string_view line = lines->Take();
  const std::vector<std::string_view> words = SplitWords(line);
  const bool shaped = words.size() == 4 && words[2] == "stack" && !words[1].empty();
  const auto stack = shaped ? ParseCount(words[3], kMaxStack) : std::nullopt;
  if (!stack || *stack == 0) return Unexpected(line, "\"input NAME stack 1..16\"");
  InputEncoder encoder;
  if (words[1] != kUnnamed) encoder.input = std::string(words[1]);
  encoder.stack = static_cast<int>(*stack);
  MURMURATE_RETURN_IF_ERROR(ParseLayers(lines, &encoder.layers));
  encoders->push_back(std::move(encoder));
  return Status();
}

bool HasNumbers(const Space& action) {
  for (int i = 0; i < action.leaf_count(); ++i) {
    if (action.leaf(i).kind == Space::Kind::kBox) return true;
  }
  return false;
}

std::string LayersText(const std::vector<Layer>& layers) {
  std::string text;
  for (const Layer& layer : layers) text += layer.ToText() + "\n";
  return text;
}

std::string FlagText(const char* name, bool flag) {
  return std::string(name) + (flag ? " 1\n" : " 0\n");
}

Status ParseBody(Lines* lines, ModelSpec* spec) {
  MURMURATE_RETURN_IF_ERROR(ParseSpaces(lines, &spec->spaces));
  while (lines->peek().starts_with("input ")) {
    MURMURATE_RETURN_IF_ERROR(ParseEncoder(lines, &spec->encoders));
  }
  if (!spec->encoders.empty() && lines->Take() != "trunk") {
    return InvalidData("the model's text has inputs but no line \"trunk\": it is cut off");
  }
  MURMURATE_RETURN_IF_ERROR(ParseLayers(lines, &spec->trunk));
  MURMURATE_RETURN_IF_ERROR(lines->TakeFlag("separate_value", &spec->separate_value));
  MURMURATE_RETURN_IF_ERROR(lines->TakeFlag("normalize_observation", &spec->normalize_observation));
  if (HasNumbers(spec->spaces.action)) {
    ContinuousSettings& continuous = spec->continuous;
    MURMURATE_RETURN_IF_ERROR(
        lines->TakeFlag("state_dependent_deviation", &continuous.state_dependent_deviation));
    MURMURATE_RETURN_IF_ERROR(lines->TakeFlag("squashed", &continuous.squashed));
    continuous.scaled = lines->peek() == kScaleLine;
    if (continuous.scaled) lines->Take();
  }
  return lines->done() ? Status() : Unexpected(lines->peek(), "the end");
}

Status CheckEncoders(const ModelSpec& spec) {
  const ObservationLayout observation(spec.spaces.observation);
  for (std::size_t i = 0; i < spec.encoders.size(); ++i) {
    const InputEncoder& encoder = spec.encoders[i];
    const auto& inputs = observation.inputs();
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const ObservationInput& one) {
      return one.name == encoder.input;
    });
    const std::string who = "the input " + Quote(encoder.input);
    if (input == inputs.end()) {
      return InvalidArgument(who + " has layers, but the observation has no such part");
    }
    if (spec.FindEncoder(encoder.input) != &encoder) {
      return InvalidArgument(who + " is described twice");
    }
    if (encoder.stack < 1 || encoder.stack > static_cast<int>(kMaxStack)) {
      return InvalidArgument(who + ": expected a stack of 1 to 16 frames, got " +
                             std::to_string(encoder.stack));
    }
    if (encoder.stack > 1 && input->element == ObservationInput::Element::kInt32) {
      return InvalidArgument(who + " holds categories, which cannot be stacked");
    }
  }
  return Status();
}

std::int64_t CountParameters(const NetworkPlan& plan) {
  std::int64_t count = 0;
  for (const PlannedInput& input : plan.inputs) {
    for (const PlannedLayer& layer : input.layers) count += layer.parameters();
  }
  for (const PlannedLayer& layer : plan.trunk) count += layer.parameters();
  return count;
}

}  // namespace

const InputEncoder* ModelSpec::FindEncoder(std::string_view input) const {
  for (const InputEncoder& encoder : encoders) {
    if (encoder.input == input) return &encoder;
  }
  return nullptr;
}

bool ModelSpec::recurrent() const {
  return std::any_of(trunk.begin(), trunk.end(), [](const Layer& l) { return l.recurrent(); });
}

int ModelSpec::normalized_count() const {
  if (!normalize_observation) return 0;
  int count = 0;
  const ObservationLayout observation(spaces.observation);
  for (const ObservationInput& input : observation.inputs()) {
    if (input.element == ObservationInput::Element::kFloat32) count += input.elements;
  }
  return count;
}

std::string ModelSpec::ToText() const {
  std::string text = std::string(kFirstLine) + "\n" + spaces.ToText();
  for (const InputEncoder& encoder : encoders) {
    text += "input " + (encoder.input.empty() ? std::string(kUnnamed) : encoder.input) + " stack " +
            std::to_string(encoder.stack) + "\n" + LayersText(encoder.layers);
  }
  if (!encoders.empty()) text += "trunk\n";
  text += LayersText(trunk);
  text += FlagText("separate_value", separate_value);
  text += FlagText("normalize_observation", normalize_observation);
  if (!HasNumbers(spaces.action)) return text;
  text += FlagText("state_dependent_deviation", continuous.state_dependent_deviation);
  text += FlagText("squashed", continuous.squashed);
  return continuous.scaled ? text + std::string(kScaleLine) + "\n" : text;
}

Result<ModelSpec> ModelSpec::Parse(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return InvalidData("the model's text takes " + std::to_string(text.size()) +
                       " bytes where at most 16384 were expected: it is damaged");
  }
  Lines lines(SplitLines(text));
  if (const std::string_view first = lines.Take(); first != kFirstLine) {
    return Unexpected(first, Quote(kFirstLine));
  }
  ModelSpec spec;
  MURMURATE_RETURN_IF_ERROR(ParseBody(&lines, &spec));
  MURMURATE_RETURN_IF_ERROR(CheckModel(spec));
  return spec;
}

Status CheckModel(const ModelSpec& spec) {
  MURMURATE_RETURN_IF_ERROR(CheckSpaces(spec.spaces));
  MURMURATE_RETURN_IF_ERROR(CheckContinuous(spec.spaces.action, spec.continuous));
  MURMURATE_RETURN_IF_ERROR(CheckEncoders(spec));
  const Result<NetworkPlan> plan = PlanNetwork(spec, "policy");
  if (!plan.ok()) return plan.status();
  if (spec.recurrent() && spec.separate_value) {
    return InvalidArgument(
        "the trunk recurs and separate_value is 1: a recurrent critic of its own would have a "
        "state that nobody holds; share the trunk (separate_value = false)");
  }
  const int outputs = ActionLayout(spec.spaces.action, spec.continuous).outputs();
  const std::int64_t heads = std::int64_t{plan->features} * (outputs + 1);
  const std::int64_t total = CountParameters(*plan) * (spec.separate_value ? 2 : 1) + heads;
  if (total > kMaxParameters) {
    return InvalidArgument("the model has " + std::to_string(total) +
                           " parameters where at most 268435456 were expected: use fewer units, "
                           "or strides that shrink the picture before it is flattened");
  }
  return Status();
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
