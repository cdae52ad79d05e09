// Updates from a replay, nothing sent or played: a learner with its store, which makes the updates of
// each batch that is inserted. What one costs goes from the draw of its samples to the move of its
// targets, with its share of the insertion of new steps.
//
//   dqn   4-64-64-2, minibatch 64: the policy here and there, its gradient, the target there
//   sac   17 numbers, 6 actions, 256-256, minibatch 256: twin critics and their targets, the policy
//         here and there, gradients of all and of the critics by the actions
#pragma once

#include <cstdint>
#include <memory>

#include "server/learn/learner.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {

class ReplayUpdates {
 public:
  static std::unique_ptr<ReplayUpdates> OfDqn();
  static std::unique_ptr<ReplayUpdates> OfSac();
  ~ReplayUpdates();

  /// Inserts a batch and makes its updates; how many there were, the same each time.
  std::uint64_t Make();
  /// Floating-point operations of one update's products.
  double flops() const { return flops_; }

 private:
  class Played;
  ReplayUpdates(const PolicyAndValue& model, const AlgorithmSettings& settings, double products);

  const double flops_;
  const ModelSpec spec_;
  Learner learner_;
  const TrajectoryLayout layout_;
  const std::unique_ptr<ExperienceStore> store_;
  std::unique_ptr<TrainingBatch> batch_;
  const std::unique_ptr<Played> played_;
};

}  // namespace murmurate
