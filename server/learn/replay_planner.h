// ReplayPlanner: makes the BatchPlan of an algorithm that learns from a replay. A batch that is new
// is not learned from: its rows are planned, for what is to be found out of each of them (first
// priorities), and no update. Of a batch that the replay gave (Samples::kReplayed), each `minibatch`
// windows make an update, in the replay's order; of each window the rows with weight > 0 count.
// Only every policy_every-th update steps the first network, the policy: the others wait for it.
#pragma once

#include "server/learn/algorithm_settings.h"
#include "server/learn/planner.h"

namespace murmurate {

class ReplayPlanner : public Planner {
 public:
  /// `seed`: of what the algorithm draws.
  explicit ReplayPlanner(const AlgorithmSettings& settings, std::uint64_t seed = 0);

  const BatchPlan& Plan(const TrainingBatch& batch, const Rates& rates, std::uint64_t learned_steps,
                        double rate_factor) override;
  const BatchPlan& plan() const override { return plan_; }
  void Began(std::size_t updates) override { updates_ += updates; }

  /// The count of updates, by which targets move, and the seed.
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;

 private:
  void PlanUpdates(const TrainingBatch& batch);

  const std::size_t minibatch_;
  const std::uint64_t target_every_, policy_every_;
  BatchPlan plan_;
  std::uint64_t seed_;
  std::uint64_t updates_ = 0;  ///< begun so far
};

}  // namespace murmurate
