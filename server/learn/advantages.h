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

  /// Records rows that the network saw, with its values and log pi(a|x).
  void Record(const TrainingBatch& batch, std::span<const SeenRow> seen,
              std::span<const float> values, std::span<const float> log_prob);
  /// Computes all once the plan's rows and what followed trajectories and truncations are recorded.
  void Compute(const TrainingBatch& batch, const BatchPlan& plan);

  // By row of the batch.
  /// What V(x_t) is to become: with lambda = 1 and pi = mu the discounted sum of the rewards up to
  /// the trajectory's end, and V of what follows where the episode goes on.
  std::span<const float> target() const { return target_; }
  /// How much better the step was than V(x_t), estimated with lambda (1: the target less V(x_t));
  /// weighed and normalized as rule and settings say.
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
