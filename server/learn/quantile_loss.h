// QuantileLoss: how far N values of a choice are from being the quantiles of the numbers that they
// are learned from (Dabney et al. 2018, arXiv 1710.10044, with kappa = 1):
//
//   loss = mean over i and j of 2 |tau_i - [y_j < q_i]| huber(y_j - q_i),   tau_i = (2 i + 1) / (2 N)
//
// with Huber's of delta 1. The paper sums over i, without the 2; so one value has Huber's loss, and
// the size of a gradient does not grow with N.
#pragma once

#include <span>
#include <vector>

namespace murmurate {

class QuantileLoss {
 public:
  /// For N `quantiles`, 1 or more.
  explicit QuantileLoss(std::size_t quantiles);

  /// The loss of `values`, N, from any number of `targets`; writes `part` times its gradient by the
  /// values, N.
  double Find(std::span<const float> values, std::span<const float> targets, float part,
              float* d_values);

 private:
  std::vector<float> above_, below_;  ///< weights where y is above q_i, and below it
  std::vector<float> losses_;         ///< of each i, summed over j
};

}  // namespace murmurate
