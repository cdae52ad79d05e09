// DenseLayer: y = activation(x W + b); layers of trunks and encoders, and both heads.
#pragma once

#include "server/network/network_layer.h"

namespace murmurate {

class DenseLayer : public NetworkLayer {
 public:
  /// A head has no output of its own: use Run.
  DenseLayer(const LayerRequest& request, bool head = false);

  void Forward(const float* parameters, int first, int count) override;
  void TransposeWeights(const float* parameters) override;
  float* Backward(const LayerBackward& call) override;
  bool fuses() const override { return true; }

  /// y [count][units]
  void Run(const float* parameters, int first, int count, float* y) const;
  /// Adds the gradient of weight and bias.
  void AddGradient(const LayerBackward& call) const;
  /// call.dx, or what is there already and this layer's share of it.
  void InputGradient(const LayerBackward& call, bool accumulate) const;
  bool has_input_gradient() const { return transposed_.size() > 0; }

 private:
  int inputs() const { return planned_.in.channels; }
  int outputs() const { return planned_.layer.units; }

  const std::size_t weight_, bias_;  ///< floats from the start of the parameters
  AlignedFloats transposed_;         ///< [units][in], where the inputs have a gradient
};

}  // namespace murmurate
