// Learner: one model and how it learns: parameters, optimizer, algorithm. Knows no socket; runs on
// its caller's thread, and with settings.threads > 1 others help. LearnLoop (learn_loop.h) runs it,
// tests call it directly. Several can learn one model, each on a thread of its own (Beside).
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "server/learn/rates.h"
#include "server/metrics/metric.h"
#include "server/network/actor_critic.h"
#include "server/parameters/parameter_store.h"
#include "shared/model/model_spec.h"
#include "shared/model/state.h"
#include "shared/model/weights_match.h"
#include "shared/weights/weights.h"

namespace murmurate {

/// Of discounted returns, as RewardScale has seen them.
struct RewardStatistics {
  double count = 0, mean = 0, m2 = 0;
  double variance() const { return count > 0 ? m2 / count : 0.0; }
};

/// What came of one batch; the names follow Stable-Baselines3.
struct LearnReport {
  std::uint64_t version = 0, updates = 0;
  std::uint64_t trained_steps = 0;  ///< learned from: neither dropped nor burned in
  double policy_loss = 0, value_loss = 0, entropy = 0, clip_fraction = 0;
  double approx_kl = 0;  ///< k3 of the policy against the one that the update began with
  double lag_kl = 0;     ///< k3 of the policy that the update began with against what played
  double explained_variance = 0, grad_norm = 0, learning_rate = 0, clip_range = 0;
  double staleness_min = 0, staleness_mean = 0, staleness_max = 0;  ///< versions, at take-up
  std::uint64_t stale_trajectories = 0, late_steps = 0;             ///< dropped for their age
  std::uint64_t skipped_updates = 0;    ///< left out: the gradient was not finite
  std::vector<EpisodeRecord> episodes;  ///< finished, as the actors counted them

  // supervised and bc (label_loss.h); NaN where there is nothing to take a mean of.
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double loss = kNone, accuracy = kNone, error = kNone;  ///< over what was learned from
  /// Over `eval_rows` rows that nobody had learned from: those of a batch that is held out, or the
  /// first pass over what actors sent, whose every row is scored before it is learned from.
  double eval_rows = 0, eval_loss = kNone, eval_accuracy = kNone;
  bool held_out = false;         ///< nothing was learned, and the version is the one before
  bool left_out = false;         ///< the batch was: its learner was told not to wait for the others
  ExchangeReport exchange = {};  ///< of a learner that shares its parameters
  Measurements metrics = {};     ///< what its algorithm declares of its own (metric.h)
};

class Learner {
 public:
  /// `store`: where the parameters are stepped; null: here, by the optimizer of `settings`.
  Learner(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed,
          const Initialization& beginning = {}, std::unique_ptr<ParameterStore> store = nullptr);
  ~Learner();

  /// Before the first batch: another that learns the same model, from the same parameters, version
  /// and rates on, on a thread of its own. Its store is the other's ParameterStore::Beside, which
  /// must have one; what is known of rewards (reward_scale.h) is known to both, and saved by
  /// either. `seed`: of its order of minibatches.
  std::unique_ptr<Learner> Beside(std::uint64_t seed) const;

  /// Before the first batch: what of a file matches goes over what was drawn.
  void BeginWith(const WeightsMatch& match);

  /// Between batches (also of those beside it): all that TakeSnapshot does not hold (the optimizer,
  /// the order of minibatches, what is known of rewards), in sections of its own.
  void Save(SavedState* state) const;
  /// Goes on, bit for bit, as the learner of the same spec and settings that took a snapshot of
  /// these `parameters` and saved `state`. On failure (kInvalidData) this learner is of no use.
  Status Load(std::uint64_t version, std::span<const float> parameters, const SavedState& state);

  /// Trains on one batch (whose rewards it scales and which it may mask) and makes the next
  /// version. `learned_steps`: where the schedules are. A batch that is held out (supervised,
  /// bc) is only scored.
  LearnReport Learn(TrainingBatch& batch, std::uint64_t learned_steps);

  /// From the next batch on.
  void SetRates(const Rates& rates);
  const Rates& rates() const;
  /// Any thread: a Learn that waits for other learners returns soon, now and from now on.
  void Interrupt();

  /// The newest parameters with their act settings; version 1 is the initial one.
  std::shared_ptr<const Snapshot> TakeSnapshot() const;
  std::uint64_t version() const;
  const ModelSpec& spec() const;
  const ParameterLayout& layout() const;
  /// Not in the parameters: nobody who plays needs them, and they need more than float32.
  const RewardStatistics& reward_statistics() const;

 private:
  struct State;
  explicit Learner(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
