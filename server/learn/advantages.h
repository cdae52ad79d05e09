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

/// What a batch is as its update begins, over its rows.
struct AdvantageStatistics {
  double explained_variance = 0.0;
  double lag_kl = 0.0;  ///< k3 of the policy that the update begins with against what played
  /// (sum rho)^2 / (n sum rho^2) with rho = pi/mu (Kong 1992): 1 where both policies are the same,
  /// 1/n where one step has all of the weight.
  double effective_share = 0.0;
  double truncated_share = 0.0;  ///< of steps, those whose rho is above rho_bar
  double target_mean = 0.0, target_deviation = 0.0;
  double advantage_mean = 0.0, advantage_deviation = 0.0;  ///< before they are normalized
};

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

  const AdvantageStatistics& statistics() const { return statistics_; }

 private:
  void FollowSteps(const TrainingBatch& batch, int slot);
  void ComputeReturns(const TrainingBatch& batch, const BatchPlan& plan);
  void MeasureRatios(std::span<const std::int32_t> rows);
  void MeasureTargets(std::span<const std::int32_t> rows);
  /// Normalizes them where the settings say so.
  void MeasureAdvantages(std::span<const std::int32_t> rows);

  const AlgorithmSettings settings_;
  const bool weighs_advantage_;
  // By row: V(x_t), V(x_{t+1}), log pi/mu, and what follows from them.
  std::vector<float> value_, next_value_, log_ratio_, target_, advantage_;
  std::vector<float> start_log_prob_;  ///< under the parameters that the batch began with
  AdvantageStatistics statistics_;
};

}  // namespace murmurate
