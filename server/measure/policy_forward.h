// PolicyForward: the network of Act, dense with two hidden layers of tanh, for rows of random
// observations.
#pragma once

#include <vector>

#include "shared/core/aligned_floats.h"
#include "shared/inference/policy.h"

namespace murmurate {

struct PolicyForwardShape {
  int observations, units, actions, rows;
};

class PolicyForward {
 public:
  explicit PolicyForward(const PolicyForwardShape& shape);

  void Call() {
    policy_.Forward(observations_.data(), shape_.rows, logits_.data(), scratch_.data());
  }
  double flops() const;  ///< floating-point operations of one call's products

 private:
  const PolicyForwardShape shape_;
  Policy policy_;
  std::vector<float> observations_, logits_;
  AlignedFloats scratch_;
};

}  // namespace murmurate
