#include "server/exchange/onnx_layers.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

using Form = OnnxFlow::Form;
using Integers = std::vector<std::int64_t>;

OnnxFlow Dense(const PlannedLayer& layer, const OnnxFlow& in, OnnxLayers* layers) {
  OnnxGraph* const graph = layers->graph();
  const int units = layer.layer.units;
  const std::string product =
      graph->Node("Gemm", {InForm(in, Form::kVector, graph).name,
                           layers->Tensor(layer, "weight", {layer.in.channels, units}),
                           layers->Tensor(layer, "bias", {units})});
  return {OnnxActivation(layer.layer.activation, product, graph), layer.out, Form::kVector};
}

/// [kernel][kernel][channels][filters] as [filters][channels][kernel][kernel].
std::vector<float> FiltersFirst(std::span<const float> weight, int area, int channels,
                                int filters) {
  std::vector<float> turned(weight.size());
  std::size_t next = 0;
  for (int f = 0; f < filters; ++f)
    for (int c = 0; c < channels; ++c)
      for (int place = 0; place < area; ++place)
        turned[next++] = weight[(static_cast<std::size_t>(place) * channels + c) * filters + f];
  return turned;
}

std::vector<OnnxAttribute> WindowAttributes(const Layer& layer) {
  return {{"kernel_shape", Integers(2, layer.kernel)},
          {"strides", Integers(2, layer.stride)},
          {"pads", Integers(4, layer.padding)}};
}

OnnxFlow Conv(const PlannedLayer& layer, const OnnxFlow& in, OnnxLayers* layers) {
  OnnxGraph* const graph = layers->graph();
  const int units = layer.layer.units, kernel = layer.layer.kernel, channels = layer.in.channels;
  const std::string name = layer.name + ".weight";
  const std::string weight =
      graph->Floats(name, {units, channels, kernel, kernel},
                    FiltersFirst(layers->model().Of(name), kernel * kernel, channels, units));
  const std::string windows = graph->Node("Conv",
                                          {InForm(in, Form::kChannelsFirst, graph).name, weight,
                                           layers->Tensor(layer, "bias", {units})},
                                          WindowAttributes(layer.layer));
  return {OnnxActivation(layer.layer.activation, windows, graph), layer.out, Form::kChannelsFirst};
}

OnnxFlow Pool(const PlannedLayer& layer, const OnnxFlow& in, OnnxLayers* layers) {
  OnnxGraph* const graph = layers->graph();
  return {graph->Node("MaxPool", {InForm(in, Form::kChannelsFirst, graph).name},
                      WindowAttributes(layer.layer)),
          layer.out, Form::kChannelsFirst};
}

OnnxFlow Flatten(const PlannedLayer& layer, const OnnxFlow& in, OnnxLayers* layers) {
  return {InForm(in, Form::kVector, layers->graph()).name, layer.out, Form::kVector};
}

/// Over the last axis: of a picture over the channels of each place.
OnnxFlow Norm(const PlannedLayer& layer, const OnnxFlow& in, OnnxLayers* layers) {
  OnnxGraph* const graph = layers->graph();
  const int channels = layer.in.channels;
  const OnnxFlow x = InForm(in, layer.in.vector() ? Form::kVector : Form::kChannelsLast, graph);
  const std::vector<OnnxAttribute> last = {{"axes", Integers{-1}}, {"keepdims", std::int64_t{1}}};
  const std::string apart = graph->Node("Sub", {x.name, graph->Node("ReduceMean", {x.name}, last)});
  const std::string variance =
      graph->Node("ReduceMean", {graph->Node("Mul", {apart, apart})}, last);
  const std::string deviation =
      graph->Node("Sqrt", {graph->Node("Add", {variance, graph->Number(1e-5f)})});
  const std::string gained = graph->Node(
      "Mul", {graph->Node("Div", {apart, deviation}), layers->Tensor(layer, "gain", {channels})});
  return {graph->Node("Add", {gained, layers->Tensor(layer, "shift", {channels})}), layer.out,
          x.form};
}

OnnxFlow Activate(const PlannedLayer& layer, const OnnxFlow& in, OnnxLayers* layers) {
  return {OnnxActivation(layer.layer.activation, in.name, layers->graph()), in.shape, in.form};
}

OnnxFlow Keep(const PlannedLayer&, const OnnxFlow& in, OnnxLayers* layers) {
  layers->kept() = in;
  return in;
}

OnnxFlow Add(const PlannedLayer&, const OnnxFlow& in, OnnxLayers* layers) {
  OnnxGraph* const graph = layers->graph();
  const std::string kept = InForm(layers->kept(), in.form, graph).name;
  return {graph->Node("Add", {in.name, kept}), in.shape, in.form};
}

template <std::string (*kStep)(const PlannedLayer&, const std::string&, OnnxLayers*)>
OnnxFlow Recur(const PlannedLayer& layer, const OnnxFlow& in, OnnxLayers* layers) {
  layers->BeginRecurrent();
  return {kStep(layer, InForm(in, Form::kVector, layers->graph()).name, layers), layer.out,
          Form::kVector};
}

using Emit = OnnxFlow (*)(const PlannedLayer& layer, const OnnxFlow& in, OnnxLayers* layers);
constexpr std::pair<LayerKind, Emit> kEmits[] = {
    {LayerKind::kDense, Dense},          {LayerKind::kConv, Conv},
    {LayerKind::kMaxPool, Pool},         {LayerKind::kFlatten, Flatten},
    {LayerKind::kLayerNorm, Norm},       {LayerKind::kActivation, Activate},
    {LayerKind::kResidual, Keep},        {LayerKind::kAdd, Add},
    {LayerKind::kLstm, Recur<OnnxLstm>}, {LayerKind::kGru, Recur<OnnxGru>},
};

}  // namespace

std::string OnnxActivation(Activation activation, const std::string& value, OnnxGraph* graph) {
  switch (activation) {
    case Activation::kTanh:
      return graph->Node("Tanh", {value});
    case Activation::kRelu:
      return graph->Node("Relu", {value});
    case Activation::kElu:
      return graph->Node("Elu", {value});
    case Activation::kSigmoid:
      return graph->Node("Sigmoid", {value});
    case Activation::kNone:
      break;
  }
  return value;
}

OnnxLayers::OnnxLayers(const FlatModel& model, OnnxGraph* graph) : model_(model), graph_(graph) {}

OnnxFlow OnnxLayers::Through(const std::vector<PlannedLayer>& layers, OnnxFlow flow) {
  for (const PlannedLayer& layer : layers) {
    const auto* const emit =
        std::ranges::find(kEmits, layer.layer.kind, &std::pair<LayerKind, Emit>::first);
    MURMURATE_CHECK(emit != std::end(kEmits), "every kind of layer can be exported");
    flow = emit->second(layer, flow, this);
  }
  return flow;
}

std::string OnnxLayers::Tensor(const PlannedLayer& layer, const std::string& tensor,
                               const std::vector<int>& shape) {
  const std::string name = layer.name + "." + tensor;
  return graph_->Floats(name, shape, model_.Of(name));
}

std::string OnnxLayers::StateName(const std::string& part) const {
  return part + (recurrent_ > 1 ? "_" + std::to_string(recurrent_) : "");
}

std::string OnnxLayers::StateInput(const std::string& before, int units) {
  const std::string name = StateName(before);
  graph_->AddInput({name, OnnxType::kFloat, {units}, "state; zeros when an episode begins"});
  return name;
}

void OnnxLayers::StateOutput(const std::string& after, int units, const std::string& value) {
  const std::string name = graph_->Node("Identity", {value}, {}, StateName(after));
  graph_->AddOutput({name, OnnxType::kFloat, {units}, "state for the next step"});
}

}  // namespace murmurate
