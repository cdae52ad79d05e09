#include "server/exchange/onnx_network.h"

#include "shared/core/check.h"

namespace murmurate {

OnnxNetworks::OnnxNetworks(const FlatModel& model, OnnxGraph* graph)
    : model_(model), graph_(graph), inputs_(model, graph) {}

std::string OnnxNetworks::Features(const std::string& network, const NetworkPlan& plan) {
  const auto found = features_.find(network);
  if (found != features_.end()) return found->second;
  OnnxLayers layers(model_, graph_);
  std::vector<std::string> parts;
  for (const PlannedInput& input : plan.inputs) {
    const OnnxFlow flow = layers.Through(input.layers, inputs_.Of(input));
    parts.push_back(InForm(flow, OnnxFlow::Form::kVector, graph_).name);
  }
  if (plan.action_features > 0) parts.push_back(inputs_.EncodedAction().name);
  OnnxFlow joined{parts.front(), {1, 1, plan.joined}, OnnxFlow::Form::kVector};
  if (parts.size() > 1) joined.name = graph_->Node("Concat", parts, {{"axis", std::int64_t{1}}});
  const OnnxFlow flow = layers.Through(plan.trunk, joined);
  return features_[network] = InForm(flow, OnnxFlow::Form::kVector, graph_).name;
}

std::string OnnxNetworks::Head(const std::string& network, const std::string& output) {
  const NetworkSpec* const spec = model_.spec.Find(network);
  MURMURATE_CHECK(spec != nullptr && spec->follows.empty(), "a network that is no target");
  const Result<NetworkPlan> plan = PlanNetwork(model_.spec, network);
  MURMURATE_CHECK(plan.ok(), "the spec of a weights file can be planned");
  const std::string features = Features(spec->shares.empty() ? network : spec->shares, *plan);
  const std::string weight = plan->head.name + ".weight", bias = plan->head.name + ".bias";
  return graph_->Node(
      "Gemm",
      {features, graph_->Floats(weight, {plan->features, plan->outputs}, model_.Of(weight)),
       graph_->Floats(bias, {plan->outputs}, model_.Of(bias))},
      {}, output);
}

}  // namespace murmurate
