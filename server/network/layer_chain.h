// LayerChain: layers that run one after the other, a bounded number of rows at a time, so that what
// one layer wrote the next finds in the cache; inside server/network only.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "server/network/network_layer.h"

namespace murmurate {

class LayerChain {
 public:
  /// `wants_input`: Backward gives the gradient of the chain's inputs, if its call wants it. At most `at_once` rows go
  /// through together; gradients move between the two blocks of `pair`, one of `room`.
  LayerChain(std::span<const PlannedLayer> layers, const LayerRows* in, bool wants_input,
             int at_once, GradientPair* pair, LayerRoom* room);

  const LayerRows* top() const;
  Activation top_activation() const;
  /// Something in it has parameters, or what comes to it wants a gradient.
  bool has_gradient() const {
    return first_learner_ < static_cast<int>(layers_.size()) || wants_input_;
  }
  double flops() const;  ///< of one row, forward and backward

  void Forward(const float* parameters, int first, int count);
  void TransposeWeights(const float* parameters);
  /// call.dy [count][top]: gradient of the top layer's outputs; with `activation_gradient_applied`,
  /// of its sums (its activation's gradient is applied already). Gives the gradient of the inputs
  /// (at most at_once rows then), or null when it is not wanted. call.dx and call.below are not
  /// read.
  float* Backward(const LayerBackward& call, bool activation_gradient_applied);

 private:
  float* BackwardChunk(LayerBackward call, bool activation_gradient_applied);

  std::vector<std::unique_ptr<NetworkLayer>> layers_;
  const LayerRows* const in_;
  const bool wants_input_;
  const int at_once_;
  GradientPair* const pair_;
  LayerRoom* const room_;
  int first_learner_ = 0;  ///< nothing below it has parameters
};

}  // namespace murmurate
