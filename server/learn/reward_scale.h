// RewardScale: what the learner makes of the rewards that games give, before it learns from them.
// The returns of episodes that are reported are counted by the actors and stay raw.
//
//   r' = clip(reward_scale r / deviation, +- reward_clip)
//
// The deviation (1 without normalize_reward) is that of the discounted return
// R_t = gamma R_{t-1} + reward_scale r_t, as in Gymnasium's NormalizeReward and Stable-Baselines3's
// VecNormalize: sqrt(variance + 1e-8), and no mean is taken off, which would change what is best.
// Each agent has its own running R; it is 0 before an episode's first step, whether the last one
// was terminated, truncated or given up, and it goes on from one trajectory of an agent to the
// next. After a gap (trajectories that were dropped, lost, or too old) R at the gap's end is
// unknown. It then goes on from its value at the gap's beginning, and for an agent that was never
// seen, from the mean of the statistics: both have the distribution that R has in general. A return
// that began at 0 there would make the deviation too small, the more so the more trajectories are
// dropped.
//
// All R of a batch are merged into the statistics (Chan et al. 1979) before its rewards are
// divided: the first batch, too, has a scale. Trajectories are taken in the order of OrderSlots.
//
// Learners of one model on several threads have one of it: Apply, Adopt and own may be called by
// any thread, Save, Load and statistics while none does. Batches that two threads took shortly
// after each other may come here in the other order.
//
// Learners that share a model through shards divide by one deviation: each hands on what it has seen
// itself since it was started (`own`), the shard sums (shard.h), and Adopt takes the sum. What a
// learner saw before it was stopped is at the shard, under the sender that it was then.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "server/parameters/moments.h"
#include "shared/model/state.h"

namespace murmurate {

class RewardScale {
 public:
  explicit RewardScale(const AlgorithmSettings& settings);

  /// Overwrites the rewards of the rows with weight > 0. Allocates only for agents it has not seen.
  void Apply(TrainingBatch& batch);

  /// The same for a batch of Samples::kReplayed, whose returns were counted when it was new: by what
  /// is known of them by now.
  void ScaleReplayed(TrainingBatch& batch) const;

  /// The statistics of the returns of Apply since this was made or loaded.
  Moments own() const;
  /// Goes on with the statistics of all learners. `all` of nothing, from one that has lost what it
  /// was told: what is known here is known to all from now on.
  void Adopt(const Moments& all);

  /// The statistics and every agent's running return.
  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);

  const Moments& statistics() const { return statistics_; }

 private:
  void Scale(TrainingBatch& batch) const;
  void MergeReturns(const TrainingBatch& batch);
  void AddReturns(const TrainingBatch& batch, int slot);

  const double scale_, clip_, gamma_;
  const bool normalize_;
  mutable std::mutex mutex_;
  Moments statistics_, own_;
  std::unordered_map<std::uint32_t, double> running_;  ///< R by agent
  std::vector<int> slots_;
  std::vector<double> returns_;  ///< of the batch
};

}  // namespace murmurate
