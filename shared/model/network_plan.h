// NetworkPlan: what a ModelSpec comes to, layer by layer: the shapes that flow, the names its
// parameters have, what each layer costs. The layout of the parameters, the learner's network, the
// client's policy and `murmurate check` all read the same plan.
//
//   input 0 -> [its layers] -+
//   input 1 -> [its layers] -+- joined vector -> [trunk] -> features -> head
//   action, if it is read ---+
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shared/model/layer.h"
#include "shared/model/observation_layout.h"

namespace murmurate {

struct ModelSpec;

/// Height, width, channels; a vector is 1 x 1 x its length.
struct LayerShape {
  int height = 1, width = 1, channels = 0;

  std::int64_t count() const { return std::int64_t{height} * width * channels; }
  bool vector() const { return height == 1 && width == 1; }
  /// "84 x 84 x 4", "512"
  std::string ToText() const;
  friend bool operator==(const LayerShape&, const LayerShape&) = default;
};

/// One tensor of a planned layer.
struct PlannedTensor {
  std::string name;
  std::vector<int> shape;
  const LayerTensor* form;

  std::int64_t count() const;
};

struct PlannedLayer {
  Layer layer;
  std::string name;  ///< "policy.0", "value.camera.2": its tensors are name + ".weight", ...
  LayerShape in, out;
  int state = 0;  ///< of a recurrent layer: its first number in an agent's state

  /// The tensors, in the order of the parameters.
  std::vector<PlannedTensor> tensors() const;
  /// The floating-point operations of one row's forward pass; multiply and add count separately.
  double flops() const;
  std::int64_t parameters() const;
};

/// One input of the observation, and the layers of its own.
struct PlannedInput {
  int input = 0;  ///< in ObservationLayout::inputs()
  int stack = 1;  ///< frames, the newest last, along the channels
  LayerShape in;  ///< as the first layer sees it: categories one-hot, frames stacked
  std::vector<PlannedLayer> layers;
  int features = 0;       ///< what it gives to the joined vector
  int first_feature = 0;  ///< where
};

struct NetworkPlan {
  bool own_layers = true;  ///< else inputs and trunk are those of a network before it
  /// Of the rows: all of them, or the first ones where it reads no privileged parts.
  std::vector<PlannedInput> inputs;
  int action_features = 0;  ///< of the action, behind them; 0: it is not read
  int joined = 0;
  std::vector<PlannedLayer> trunk;
  int features = 0;
  PlannedLayer head;     ///< a dense layer
  int outputs = 0;       ///< of the head
  int state_floats = 0;  ///< of all recurrent layers: what an agent carries from step to step
};

/// The network of this name, which the spec has; its name is the first word of the names, but the
/// layers of a network that shares another's have the other's names, and those of its target have
/// the names of the other's target. The status names the layer, what came to it and what it needs.
Result<NetworkPlan> PlanNetwork(const ModelSpec& spec, std::string_view network);

/// The rows' space (ModelSpec::row_space) as the network sees it: stacked inputs have `stack` times
/// the channels, pixel by pixel, those of the oldest frame first.
Space StackedObservation(const ModelSpec& spec);

}  // namespace murmurate
