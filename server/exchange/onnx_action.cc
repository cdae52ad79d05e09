#include "server/exchange/onnx_action.h"

#include <limits>
#include <utility>

#include "shared/inference/action_head.h"

namespace murmurate {
namespace {

using Kind = ActionPart::Kind;

constexpr std::int64_t kOne = 1;
constexpr char kMask[] = "action_mask";
constexpr std::int64_t kFloatType = 1, kInt64Type = 7;

}  // namespace

OnnxAction::OnnxAction(const FlatModel& model, std::string head, OnnxGraph* graph)
    : model_(model),
      graph_(graph),
      layout_(model.spec.spaces.action, model.spec.continuous),
      head_(std::move(head)) {}

std::string OnnxAction::Name(const std::string& output, const ActionPart& part) const {
  return part.name.empty() ? output : output + "." + part.name;
}

std::string OnnxAction::Columns(const std::string& value, int first, int count, int of) {
  if (count == of) return value;
  return graph_->Node("Slice", {value, graph_->Integers({first}), graph_->Integers({first + count}),
                                graph_->Integers({1})});
}

void OnnxAction::AddOutputs() {
  if (layout_.mask_bytes() > 0)
    graph_->AddInput({kMask, OnnxType::kBool, {layout_.mask_bytes()}, "true: may be chosen"});
  for (const ActionPart& part : layout_.parts()) {
    if (part.kind == Kind::kDiscrete) AddChoices(part);
    if (part.kind == Kind::kBinary) AddSwitches(part);
    if (part.kind == Kind::kContinuous) AddNumbers(part);
  }
}

std::string OnnxAction::Allowed(const std::string& logits, const std::string& mask) {
  const std::string numbers = graph_->Node("Cast", {mask}, {{"to", kFloatType}});
  const std::string most = graph_->Node(
      "ReduceMax", {numbers}, {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", kOne}});
  const std::string none = graph_->Node("Less", {most, graph_->Number(0.5f)});
  return graph_->Node("Where", {graph_->Node("Or", {mask, none}), logits,
                                graph_->Number(std::numeric_limits<float>::lowest())});
}

void OnnxAction::AddChoices(const ActionPart& part) {
  std::vector<std::string> logits, best;
  int first = 0;
  for (const int choices : part.choices) {
    const std::string mask =
        Columns(kMask, part.first_mask_byte + first, choices, layout_.mask_bytes());
    logits.push_back(
        Allowed(Columns(head_, part.first_output + first, choices, layout_.outputs()), mask));
    best.push_back(graph_->Node("ArgMax", {logits.back()}, {{"axis", kOne}, {"keepdims", kOne}}));
    first += choices;
  }
  const std::vector<OnnxAttribute> columns = {{"axis", kOne}};
  graph_->AddOutput({graph_->Node("Concat", best, columns, Name("action", part)),
                     OnnxType::kInt64,
                     {part.count},
                     "the likeliest choice of each variable"});
  graph_->AddOutput({graph_->Node("Concat", logits, columns, Name("logits", part)),
                     OnnxType::kFloat,
                     {first},
                     "of each choice of each variable"});
}

void OnnxAction::AddSwitches(const ActionPart& part) {
  const std::string logits =
      graph_->Node("Identity", {Columns(head_, part.first_output, part.count, layout_.outputs())},
                   {}, Name("logits", part));
  const std::string on = graph_->Node("Greater", {logits, graph_->Number(0.0f)});
  graph_->AddOutput({graph_->Node("Cast", {on}, {{"to", kInt64Type}}, Name("action", part)),
                     OnnxType::kInt64,
                     {part.count},
                     "1: on, where that is likelier"});
  graph_->AddOutput({logits, OnnxType::kFloat, {part.count}, "of each switch being on"});
}

void OnnxAction::AddNumbers(const ActionPart& part) {
  std::string mean = Columns(head_, part.first_output, part.count, layout_.outputs());
  const ContinuousSettings& settings = layout_.settings();
  if (settings.deterministic) {
    if (settings.squashed) mean = graph_->Node("Tanh", {mean});
    mean = graph_->Node("Clip", {mean, graph_->Number(-1.0f), graph_->Number(1.0f)});
  }
  mean = graph_->Node("Identity", {mean}, {}, Name("mean", part));
  std::vector<std::int64_t> shape = {0};
  shape.insert(shape.end(), part.shape.begin(), part.shape.end());
  const std::string action = graph_->Node("Reshape", {ToGame(part, mean), graph_->Integers(shape)},
                                          {}, Name("action", part));
  graph_->AddOutput({action, OnnxType::kFloat, part.shape, "as the game gets it"});
  graph_->AddOutput({mean, OnnxType::kFloat, {part.count}, "before scaling or squashing"});
  if (settings.deterministic) return;
  graph_->AddOutput({Deviation(part, mean),
                     OnnxType::kFloat,
                     {part.count},
                     "standard deviation around the mean"});
}

std::string OnnxAction::Deviation(const ActionPart& part, const std::string& mean) {
  std::string log;
  if (part.first_deviation < 0) {
    log = Columns(head_, part.first_output + part.count, part.count, layout_.outputs());
  } else {
    const std::span<const float> free = model_.Of(model_.spec.policy().name + ".log_deviation")
                                            .subspan(static_cast<std::size_t>(part.first_deviation),
                                                     static_cast<std::size_t>(part.count));
    log = graph_->Node("Expand", {PerNumber(part, "log_deviation", {free.begin(), free.end()}),
                                  graph_->Node("Shape", {mean})});
  }
  const std::string held = graph_->Node(
      "Clip", {log, graph_->Number(kMinLogDeviation), graph_->Number(kMaxLogDeviation)});
  return graph_->Node("Exp", {held}, {}, Name("deviation", part));
}

std::string OnnxAction::PerNumber(const ActionPart& part, const std::string& name,
                                  const std::vector<float>& values) {
  return graph_->Floats(Name("action", part) + "/" + name, {part.count}, values);
}

std::string OnnxAction::ToGame(const ActionPart& part, const std::string& mean) {
  if (part.low.empty()) return mean;
  std::vector<float> middle, half;
  for (std::size_t i = 0; i < part.low.size(); ++i) {
    const bool scaled = !part.scales.empty();
    middle.push_back(static_cast<float>(scaled ? part.scales[i].middle
                                               : 0.5 * (double{part.low[i]} + part.high[i])));
    half.push_back(scaled ? part.scales[i].half_width
                          : static_cast<float>(0.5 * (double{part.high[i]} - part.low[i])));
  }
  std::string number = mean;
  if (!part.scales.empty() || layout_.squashes_samples()) {
    if (layout_.squashes_samples()) number = graph_->Node("Tanh", {mean});
    number = graph_->Node("Mul", {number, PerNumber(part, "half_width", half)});
    number = graph_->Node("Add", {number, PerNumber(part, "middle", middle)});
  }
  number = graph_->Node("Max", {number, PerNumber(part, "low", part.low)});
  return graph_->Node("Min", {number, PerNumber(part, "high", part.high)});
}

}  // namespace murmurate
