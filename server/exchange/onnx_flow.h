// OnnxFlow: what goes from layer to layer in an OnnxGraph, and how its numbers lie there. Ours lie
// as [height, width, channels]; windows of ONNX take [channels, height, width].
#pragma once

#include <cstdint>
#include <string>

#include "server/exchange/onnx_graph.h"
#include "shared/model/network_plan.h"

namespace murmurate {

struct OnnxFlow {
  enum class Form : std::uint8_t {
    kVector,         ///< [batch, n]
    kChannelsLast,   ///< [batch, height, width, channels]
    kChannelsFirst,  ///< [batch, channels, height, width]
  };
  std::string name;
  LayerShape shape;
  Form form = Form::kVector;
};

/// The same numbers in another form: adds the nodes that this takes. A picture becomes a vector in
/// the order of [height, width, channels]; a vector of one place becomes a picture of it.
OnnxFlow InForm(const OnnxFlow& flow, OnnxFlow::Form form, OnnxGraph* graph);

}  // namespace murmurate
