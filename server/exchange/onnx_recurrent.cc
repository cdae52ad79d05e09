// The recurrent cells of shared/compute/recurrent.h, one step, from products and sums.
#include "server/exchange/onnx_layers.h"

namespace murmurate {
namespace {

/// [batch, gates x units] cut into its gates.
std::vector<std::string> Gates(const std::string& sums, int gates, int units, OnnxGraph* graph) {
  const std::vector<std::int64_t> sizes(static_cast<std::size_t>(gates), units);
  return graph->Nodes("Split", {sums, graph->Integers(sizes)}, {{"axis", std::int64_t{1}}}, gates);
}

std::string FromInput(const PlannedLayer& layer, const std::string& x, OnnxLayers* layers) {
  const int columns = layer.layer.form().gates * layer.layer.units;
  return layers->graph()->Node(
      "Gemm", {x, layers->Tensor(layer, "input_weight", {layer.in.channels, columns}),
               layers->Tensor(layer, "bias", {columns})});
}

std::string FromState(const PlannedLayer& layer, const std::string& h, OnnxLayers* layers) {
  const int units = layer.layer.units;
  return layers->graph()->Node(
      "MatMul",
      {h, layers->Tensor(layer, "hidden_weight", {units, layer.layer.form().gates * units})});
}

}  // namespace

std::string OnnxLstm(const PlannedLayer& layer, const std::string& x, OnnxLayers* layers) {
  OnnxGraph* const graph = layers->graph();
  const int units = layer.layer.units;
  const std::string h = layers->StateInput("h0", units), c = layers->StateInput("c0", units);
  const std::string sums =
      graph->Node("Add", {FromInput(layer, x, layers), FromState(layer, h, layers)});
  const std::vector<std::string> gates = Gates(sums, 4, units, graph);  // i f g o
  const std::string in = graph->Node("Sigmoid", {gates[0]});
  const std::string forget = graph->Node("Sigmoid", {gates[1]});
  const std::string candidate = graph->Node("Tanh", {gates[2]});
  const std::string out = graph->Node("Sigmoid", {gates[3]});
  const std::string cell =
      graph->Node("Add", {graph->Node("Mul", {forget, c}), graph->Node("Mul", {in, candidate})});
  const std::string hidden = graph->Node("Mul", {out, graph->Node("Tanh", {cell})});
  layers->StateOutput("hn", units, hidden);
  layers->StateOutput("cn", units, cell);
  return hidden;
}

std::string OnnxGru(const PlannedLayer& layer, const std::string& x, OnnxLayers* layers) {
  OnnxGraph* const graph = layers->graph();
  const int units = layer.layer.units;
  const std::string h = layers->StateInput("h0", units);
  const std::vector<std::string> a = Gates(FromInput(layer, x, layers), 3, units, graph);  // r z n
  const std::vector<std::string> b = Gates(FromState(layer, h, layers), 3, units, graph);
  const std::string reset = graph->Node("Sigmoid", {graph->Node("Add", {a[0], b[0]})});
  const std::string update = graph->Node("Sigmoid", {graph->Node("Add", {a[1], b[1]})});
  const std::string remembered =
      graph->Node("Add", {b[2], layers->Tensor(layer, "hidden_bias", {units})});
  const std::string candidate =
      graph->Node("Tanh", {graph->Node("Add", {a[2], graph->Node("Mul", {reset, remembered})})});
  // (1 - z) n + z h = n + z (h - n)
  const std::string hidden = graph->Node(
      "Add", {candidate, graph->Node("Mul", {update, graph->Node("Sub", {h, candidate})})});
  layers->StateOutput("hn", units, hidden);
  return hidden;
}

}  // namespace murmurate
