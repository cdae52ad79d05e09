// Advantages: what is known of every row of a batch once the network has seen it under the
// learner's parameters: values, returns (returns.h) and how far the policy is from what played.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "server/learn/batch_plan.h"
#include "server/learn/lanes.h"

namespace murmurate {

class Advantages {
 public:
  /// `weighs_advantage`: by min(rho_pg_bar, pi/mu). Nothing is allocated later.
  Advantages(const AlgorithmSettings& settings, bool weighs_advantage);

  /// Rows that the network saw, with its values and log pi(a|x).
  void Record(const TrainingBatch& batch, std::span<const SeenRow> seen,
              std::span<const float> values, std::span<const float> log_prob);
  /// When all rows of the plan are recorded, and what followed trajectories and truncations.
  void Compute(const TrainingBatch& batch, const BatchPlan& plan);

  // By row of the batch.
  std::span<const float> target() const { return target_; }
  std::span<const float> advantage() const { return advantage_; }
  std::span<const float> start_log_prob() const { return start_log_prob_; }

  double explained_variance() const { return explained_variance_; }
  double lag_kl() const { return lag_kl_; }

 private:
  void FollowSteps(const TrainingBatch& batch, int slot);
  void ComputeReturns(const TrainingBatch& batch, const BatchPlan& plan);
  void Normalize(std::span<const std::int32_t> rows);
  double ExplainedVariance(std::span<const std::int32_t> rows) const;
  double LagKl(std::span<const std::int32_t> rows) const;

  const AlgorithmSettings settings_;
  const bool weighs_advantage_;
  // By row: V(x_t), V(x_{t+1}), log pi/mu, and what follows from them.
  std::vector<float> value_, next_value_, log_ratio_, target_, advantage_;
  std::vector<float> start_log_prob_;  ///< under the parameters that the batch began with
  double explained_variance_ = 0.0, lag_kl_ = 0.0;
};

}  // namespace murmurate
