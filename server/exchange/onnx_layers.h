// OnnxLayers: the layers of one network as nodes. What a layer computes is said by
// shared/model/layer_kinds.h; each kind is a row of onnx_layers.cc. Only operators of plain
// arithmetic: layer norms and recurrent cells are put together from them.
#pragma once

#include <string>
#include <vector>

#include "server/exchange/flat_model.h"
#include "server/exchange/onnx_flow.h"
#include "shared/model/network_plan.h"

namespace murmurate {

class OnnxLayers {
 public:
  /// `model` and `graph` outlive it.
  OnnxLayers(const FlatModel& model, OnnxGraph* graph);

  /// `flow` behind `layers`.
  OnnxFlow Through(const std::vector<PlannedLayer>& layers, OnnxFlow flow);

  /// A constant with a tensor of the model, which has this shape.
  std::string Tensor(const PlannedLayer& layer, const std::string& tensor,
                     const std::vector<int>& shape);
  /// A part of a recurrent state, [batch, units]: its input is `before` ("h0") and its output
  /// `after` ("hn"); of the second recurrent layer "h0_2" and "hn_2". Only a model's policy recurs.
  std::string StateInput(const std::string& before, int units);
  void StateOutput(const std::string& after, int units, const std::string& value);
  /// Called before the parts of a recurrent layer.
  void BeginRecurrent() { ++recurrent_; }

  const FlatModel& model() const { return model_; }
  OnnxGraph* graph() const { return graph_; }
  OnnxFlow& kept() { return kept_; }  ///< what came into the open residual block

 private:
  std::string StateName(const std::string& part) const;

  const FlatModel& model_;
  OnnxGraph* graph_;
  OnnxFlow kept_;
  int recurrent_ = 0;
};

/// The step of a recurrent layer for [batch, inputs]; it adds the layer's states.
std::string OnnxLstm(const PlannedLayer& layer, const std::string& x, OnnxLayers* layers);
std::string OnnxGru(const PlannedLayer& layer, const std::string& x, OnnxLayers* layers);

/// `value` behind the activation.
std::string OnnxActivation(Activation activation, const std::string& value, OnnxGraph* graph);

}  // namespace murmurate
