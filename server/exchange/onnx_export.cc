#include "server/exchange/onnx_export.h"

#include "server/exchange/flat_model.h"
#include "server/exchange/onnx_action.h"
#include "server/exchange/onnx_network.h"

namespace murmurate {

Result<std::string> FormatOnnx(const WeightsFile& file, const std::vector<std::string>& networks) {
  const FlatModel model(file);
  OnnxGraph graph;
  OnnxNetworks made(model, &graph);
  const std::string& policy = file.spec.policy().name;
  OnnxAction(model, made.Head(policy), &graph).AddOutputs();
  for (const std::string& name : networks) {
    const Result<NetworkPlan> plan = PlanNetwork(file.spec, name);
    if (!plan.ok()) return plan.status();
    graph.AddOutput({made.Head(name, name),
                     OnnxType::kFloat,
                     {plan->outputs},
                     "the outputs of the network " + name});
  }
  return graph.File({{"murmurate.spec", file.spec.ToText()},
                     {"murmurate.spaces", file.spec.spaces.ToText()},
                     {"murmurate.version", std::to_string(file.version)},
                     {"murmurate.steps", std::to_string(file.steps)}});
}

}  // namespace murmurate
