#include "server/exchange/onnx_flow.h"

namespace murmurate {
namespace {

using Form = OnnxFlow::Form;

std::string Transposed(const std::string& name, const std::vector<std::int64_t>& axes,
                       OnnxGraph* graph) {
  return graph->Node("Transpose", {name}, {{"perm", axes}});
}

}  // namespace

OnnxFlow InForm(const OnnxFlow& flow, Form form, OnnxGraph* graph) {
  if (flow.form == form) return flow;
  OnnxFlow next{flow.name, flow.shape, form};
  if (form == Form::kVector) {
    next.name = InForm(flow, Form::kChannelsLast, graph).name;
    next.name = graph->Node("Flatten", {next.name}, {{"axis", std::int64_t{1}}});
    next.shape = {1, 1, static_cast<int>(flow.shape.count())};
  } else if (flow.form == Form::kVector) {
    const LayerShape& s = flow.shape;
    const bool last = form == Form::kChannelsLast;
    const std::vector<std::int64_t> sides = {
        0, last ? s.height : s.channels, last ? s.width : s.height, last ? s.channels : s.width};
    next.name = graph->Node("Reshape", {flow.name, graph->Integers(sides)});
  } else if (form == Form::kChannelsFirst) {
    next.name = Transposed(flow.name, {0, 3, 1, 2}, graph);
  } else {
    next.name = Transposed(flow.name, {0, 2, 3, 1}, graph);
  }
  return next;
}

}  // namespace murmurate
