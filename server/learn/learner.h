// Learner: one model and how it learns: parameters, optimizer, algorithm. Knows no socket; runs on
// its caller's thread, and with settings.threads > 1 others help. LearnLoop (learn_loop.h) runs it,
// tests call it directly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/experience/training_batch.h"
#include "shared/model/model_spec.h"
#include "shared/model/weights_match.h"
#include "shared/network/actor_critic.h"
#include "shared/weights/weights.h"

namespace murmurate {

/// A number that may change over the run: {from, to, steps, shape}. Constant when steps == 0.
struct Schedule {
  double from = 0, to = 0;
  std::uint64_t steps = 0;  ///< environment steps from `from` to `to`
  enum class Shape : std::uint8_t { kLinear, kCosine, kExponential } shape = Shape::kLinear;

  Schedule() = default;
  Schedule(double constant) : from(constant), to(constant) {}
  double At(std::uint64_t environment_steps) const;
};

/// What is done about late experience. Over `max_staleness` it is dropped in any case; in both, the
/// loss takes r = pi_theta/mu.
enum class StalenessPolicy : std::uint8_t {
  kVtrace,  ///< value targets corrected by pi/mu (V-trace)
  kDrop,    ///< value targets as if it were fresh (plain lambda returns)
};

struct PpoSettings {
  int trajectory_length = 128;  ///< T
  int batch_steps = 2048;       ///< a multiple of T
  int minibatch = 256;
  int epochs = 10;
  double gamma = 0.99, lambda = 0.95;
  double reward_scale = 1.0;          ///< rewards are multiplied by it (reward_scale.h),
  bool normalize_reward = false;      ///< divided by the deviation of the discounted return,
  double reward_clip = 0.0;           ///< and cut to +- this; 0: not cut
  double rho_bar = 1.0, c_bar = 1.0;  ///< V-trace truncation levels
  Schedule clip = 0.2;
  Schedule entropy = 0.0;
  Schedule learning_rate = 3e-4;
  double value_weight = 0.5;
  double max_grad_norm = 0.5;
  double adam_epsilon = 1e-5, weight_decay = 0.0;
  int max_staleness = 16;  ///< versions
  StalenessPolicy staleness = StalenessPolicy::kVtrace;
  /// Recurrent models: the first steps of a trajectory that only bring its stored state up to date.
  int burn_in = 0;
  double target_kl = 0.0;  ///< stop the epochs when approx_kl exceeds 1.5 x this; 0: never
  /// That compute a minibatch's gradient together (actor_critic.h); another number, other rounding.
  int threads = 1;
};

/// Of discounted returns, as RewardScale has seen them.
struct RewardStatistics {
  double count = 0, mean = 0, m2 = 0;
  double variance() const { return count > 0 ? m2 / count : 0.0; }
};

/// What came of one batch; the names follow Stable-Baselines3.
struct LearnReport {
  std::uint64_t version = 0, updates = 0;
  std::uint64_t trained_steps = 0;  ///< learned from: neither dropped nor burned in
  double policy_loss = 0, value_loss = 0, entropy = 0, approx_kl = 0, clip_fraction = 0;
  double explained_variance = 0, grad_norm = 0, learning_rate = 0, clip_range = 0;
  double staleness_min = 0, staleness_mean = 0, staleness_max = 0;  ///< versions, at take-up
  std::uint64_t stale_trajectories = 0;                             ///< dropped for their age
  std::uint64_t skipped_updates = 0;    ///< left out: the gradient was not finite
  std::vector<EpisodeRecord> episodes;  ///< finished, as the actors counted them
};

class Learner {
 public:
  Learner(const ModelSpec& spec, const PpoSettings& settings, std::uint64_t seed,
          Initializer initializer = Initializer::kOrthogonal);
  ~Learner();

  /// Before the first batch: what of a file matches goes over what was drawn.
  void BeginWith(const WeightsMatch& match);

  /// Trains on one batch (whose rewards it scales and which it may mask) and makes the next
  /// version. `environment_steps`: where the schedules are.
  LearnReport Learn(TrainingBatch& batch, std::uint64_t environment_steps);

  /// The newest parameters with their act settings; version 1 is the initial one.
  std::shared_ptr<const Snapshot> TakeSnapshot() const;
  std::uint64_t version() const;
  const ModelSpec& spec() const;
  const ParameterLayout& layout() const;
  /// Not in the parameters: nobody who plays needs them, and they need more than float32.
  const RewardStatistics& reward_statistics() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
