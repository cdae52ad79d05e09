#include "server/exchange/onnx_inputs.h"

#include <cmath>

#include "shared/model/action_layout.h"
#include "shared/model/row_space.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

constexpr char kPreviousReward[] = "previous_reward";

OnnxType TypeOf(Element element) {
  if (element == Element::kUint8) return OnnxType::kUint8;
  return element == Element::kInt32 ? OnnxType::kInt32 : OnnxType::kFloat;
}

std::string AsFloat(const std::string& name, OnnxGraph* graph) {
  return graph->Node("Cast", {name}, {{"to", std::int64_t{1}}});
}

std::string MeaningOf(const ObservationInput& input, int stack, bool normalized) {
  std::string text = input.element == Element::kUint8   ? "bytes, scaled by 1/255 inside"
                     : input.element == Element::kInt32 ? "categories, from 0"
                     : normalized                       ? "numbers, normalized inside"
                                                        : "numbers";
  if (stack > 1)
    text += "; the last " + std::to_string(stack) + " frames along the last axis, the newest last";
  return text;
}

/// sign(r) (sqrt(|r| + 1) - 1), as ReducedReward (previous_step.h).
std::string Reduced(const std::string& reward, OnnxGraph* graph) {
  const std::string one = graph->Number(1.0f);
  const std::string grown = graph->Node("Add", {graph->Node("Abs", {reward}), one});
  const std::string size = graph->Node("Sub", {graph->Node("Sqrt", {grown}), one});
  return graph->Node("Mul", {graph->Node("Sign", {reward}), size});
}

}  // namespace

OnnxInputs::OnnxInputs(const FlatModel& model, OnnxGraph* graph)
    : model_(model),
      graph_(graph),
      rows_(model.spec.row_space()),
      stacked_(StackedObservation(model.spec)) {}

std::string OnnxInputs::NameOf(int index) const {
  const std::string& name = rows_.inputs()[static_cast<std::size_t>(index)].name;
  if (name.empty()) return "observation";
  const bool shown = index < model_.spec.spaces.observation.leaf_count();
  return shown ? "observation." + name : name;
}

OnnxFlow OnnxInputs::Of(const PlannedInput& input) {
  const auto found = made_.find(input.input);
  if (found != made_.end()) return found->second;
  return made_[input.input] = Make(input, input.input);
}

OnnxFlow OnnxInputs::Make(const PlannedInput& planned, int index) {
  const ObservationInput& input = stacked_.inputs()[static_cast<std::size_t>(index)];
  std::string name = NameOf(index);
  const bool normalized = model_.spec.normalize_observation && input.element == Element::kFloat32;
  graph_->AddInput(
      {name, TypeOf(input.element), input.shape, MeaningOf(input, planned.stack, normalized)});
  OnnxFlow::Form form =
      input.shape.size() == 1 ? OnnxFlow::Form::kVector : OnnxFlow::Form::kChannelsLast;
  if (name == kPreviousReward) name = Reduced(name, graph_);
  if (input.element == Element::kUint8)
    name = graph_->Node("Mul", {AsFloat(name, graph_), graph_->Number(1.0f / 255.0f)});
  if (input.element == Element::kInt32) name = OneHot(name, input);
  if (normalized) name = Normalized(name, index, planned.stack);
  if (input.shape.size() != 1 && input.shape.size() != 3) {
    name = graph_->Node("Flatten", {name}, {{"axis", std::int64_t{1}}});
    form = OnnxFlow::Form::kVector;
  }
  return {name, planned.in, form};
}

/// (x - mean) / sqrt(variance + 1e-8), within -10 to 10. The statistics are of one frame; a stacked
/// input has each of them for every frame.
std::string OnnxInputs::Normalized(const std::string& name, int index, int stack) {
  const ObservationInput& input = stacked_.inputs()[static_cast<std::size_t>(index)];
  std::size_t first = 0;
  for (int i = 0; i < index; ++i) {
    const ObservationInput& before = rows_.inputs()[static_cast<std::size_t>(i)];
    if (before.element == Element::kFloat32) first += static_cast<std::size_t>(before.elements);
  }
  const std::span<const float> means = model_.Of("statistics.observation.mean").subspan(first);
  const std::span<const float> variances =
      model_.Of("statistics.observation.variance").subspan(first);
  const int channels = input.shape.back(), frame = channels / stack;
  std::vector<float> mean, scale;
  for (int j = 0; j < input.elements; ++j) {
    const auto source = static_cast<std::size_t>(j / channels * frame + j % frame);
    mean.push_back(means[source]);
    scale.push_back(1.0f / std::sqrt(variances[source] + 1e-8f));
  }
  const std::string from = NameOf(index);
  const std::string moved =
      graph_->Node("Sub", {name, graph_->Floats(from + "/mean", input.shape, mean)});
  const std::string scaled =
      graph_->Node("Mul", {moved, graph_->Floats(from + "/scale", input.shape, scale)});
  return graph_->Node("Clip", {scaled, graph_->Number(-10.0f), graph_->Number(10.0f)});
}

/// Column j of the one-hot form is 1 where the category of its number is the column's.
std::string OnnxInputs::OneHot(const std::string& name, const ObservationInput& input) {
  std::vector<std::int64_t> number, category;
  for (int i = 0; i < input.elements; ++i) {
    for (int j = 0; j < input.categories[static_cast<std::size_t>(i)]; ++j) {
      number.push_back(i);
      category.push_back(j);
    }
  }
  const std::string wide = graph_->Node("Cast", {name}, {{"to", std::int64_t{7}}});
  const std::string spread =
      graph_->Node("Gather", {wide, graph_->Integers(number)}, {{"axis", std::int64_t{1}}});
  return AsFloat(graph_->Node("Equal", {spread, graph_->Integers(category)}), graph_);
}

OnnxFlow OnnxInputs::EncodedAction() {
  const int count = ActionLayout(model_.spec.spaces.action, model_.spec.continuous).encoded_count();
  if (encoded_action_.empty()) {
    encoded_action_ = "encoded_action";
    graph_->AddInput({encoded_action_,
                      OnnxType::kFloat,
                      {count},
                      "choices one-hot, switches 0 or 1, numbers -1 to 1 within their box"});
  }
  return {encoded_action_, {1, 1, count}, OnnxFlow::Form::kVector};
}

}  // namespace murmurate
