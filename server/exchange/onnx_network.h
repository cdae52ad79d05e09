// OnnxNetworks: the networks of a model in one graph. Networks that share layers have them once,
// and an input that several read is one input.
#pragma once

#include <map>
#include <string>

#include "server/exchange/flat_model.h"
#include "server/exchange/onnx_inputs.h"
#include "server/exchange/onnx_layers.h"

namespace murmurate {

class OnnxNetworks {
 public:
  /// `model` and `graph` outlive it.
  OnnxNetworks(const FlatModel& model, OnnxGraph* graph);

  /// Adds what the network of this name, which is no target, needs; gives back the value
  /// [batch, outputs] of its head, whose node has the name `output` ("": one that is chosen).
  std::string Head(const std::string& network, const std::string& output = "");

 private:
  /// What the head of a network reads, [batch, features].
  std::string Features(const std::string& network, const NetworkPlan& plan);

  const FlatModel& model_;
  OnnxGraph* graph_;
  OnnxInputs inputs_;
  std::map<std::string, std::string> features_;  ///< of each network with layers of its own
};

}  // namespace murmurate
