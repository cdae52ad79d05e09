// BatchLearning: a learner alone, nothing sent or played: what a batch of 8 x 128 steps of 4-64-64-2
// (apart for the value) costs, values, returns, forward, loss, backward, clip and optimizer together.
#pragma once

#include "server/learn/learner.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

class BatchLearning {
 public:
  static constexpr int kAgents = 8, kLength = 128, kSteps = kAgents * kLength;

  /// `minibatch` in steps.
  BatchLearning(const AlgorithmKind* kind, int epochs, int minibatch);

  void Learn() { (void)learner_.Learn(batch_, kSteps); }
  /// Floating-point operations of the products of one Learn.
  double flops() const { return flops_; }

 private:
  const PolicyAndValue spec_;
  Learner learner_;
  TrainingBatch batch_;
  const double flops_;
};

}  // namespace murmurate
