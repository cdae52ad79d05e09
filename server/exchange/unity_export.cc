#include "server/exchange/unity_export.h"

#include "server/exchange/onnx_action.h"
#include "server/exchange/onnx_network.h"
#include "server/exchange/unity_graph.h"

namespace murmurate {

Result<std::string> FormatUnity(const WeightsFile& file) {
  if (file.spec.previous.any())
    return InvalidArgument(
        "the policy reads its previous action or reward, which ML-Agents does not give; train "
        "without "
        "previous_action and previous_reward, or use --format onnx");
  const FlatModel model(file);
  std::vector<int> choices;
  const ActionLayout layout(file.spec.spaces.action, file.spec.continuous);
  for (const ActionPart& part : layout.parts()) {
    if (part.kind == ActionPart::Kind::kBinary)
      return InvalidArgument(
          "the action has switches, which ML-Agents has no tensor for; state them as discrete 2, "
          "or "
          "use --format onnx");
    choices.insert(choices.end(), part.choices.begin(), part.choices.end());
  }
  UnityGraph graph(choices);
  OnnxNetworks networks(model, &graph);
  OnnxAction(model, networks.Head(file.spec.policy().name), &graph).AddOutputs();
  graph.Finish();
  return graph.File({{"murmurate.spec", file.spec.ToText()},
                     {"murmurate.spaces", file.spec.spaces.ToText()},
                     {"murmurate.version", std::to_string(file.version)},
                     {"murmurate.steps", std::to_string(file.steps)}});
}

}  // namespace murmurate
