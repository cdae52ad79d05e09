// AlgorithmSettings: what a config says about how a model learns.
#pragma once

#include <cstdint>
#include <optional>

#include "server/experience/batch_shape.h"
#include "server/parameters/optimizer.h"
#include "server/replay/replay_settings.h"
#include "shared/model/act_settings.h"

namespace murmurate {

/// A number that may change over the run: {from, to, steps, shape}. Constant when steps == 0.
struct Schedule {
  double from = 0, to = 0;
  std::uint64_t steps = 0;       ///< learned from, between `from` and `to`
  bool over_the_budget = false;  ///< `steps` are not the schedule's own but run.steps
  enum class Shape : std::uint8_t { kLinear, kCosine, kExponential } shape = Shape::kLinear;

  Schedule() = default;
  Schedule(double constant) : from(constant), to(constant) {}
  double At(std::uint64_t learned_steps) const;
  bool operator==(const Schedule&) const = default;
  /// Whether a config says it in the same words: another budget alone is no other schedule.
  bool SaysTheSame(const Schedule& other) const;
};

struct AlgorithmKind;
/// The one that a config which names none gets (algorithms.h has all).
const AlgorithmKind& DefaultAlgorithm();

/// StalenessPolicy says what is done about late experience; over `max_staleness` it is dropped.
enum class StalenessPolicy : std::uint8_t {
  kVtrace,  ///< returns corrected by pi/mu (V-trace)
  kDrop,    ///< returns as if it were fresh (plain lambda returns)
  /// Returns as kDrop, and none is wanted: actors wait for the version that they play under.
  kBlock,
};

/// How an algorithm that learns from a replay plays, what its policy is and learns by.
struct ReplayPolicy {
  bool dueling = false;     ///< a value of the state, and advantages (choice_networks.h)
  int quantiles = 1;        ///< of the return, for each choice; 1: its mean alone
  Schedule epsilon = 0.05;  ///< of steps that are chosen at random instead of as the best
  int ladder_count = 0;     ///< agents of a ladder of epsilons (ActSettings); 0: there is none
  double ladder_alpha = 7;  ///< of the ladder
  double noise = 0.1;  ///< deviation of what is added to one action's numbers, 1 being half the box
  ActSettings::Noise noise_color = ActSettings::Noise::kWhite;  ///< what numbers are drawn with
  int every = 1;                     ///< updates of the values for each of the policy
  double initial_temperature = 1.0;  ///< weight of the entropy, which is tuned from then on
  /// The entropy that the temperature brings about; unset: temperature.h.
  std::optional<double> target_entropy = {};
  /// Deviation and bound of what is added to the next action, 1 being half the box.
  double target_noise = 0.2, target_noise_clip = 0.5;
  // Of a policy that is learned from recorded actions alone (expectile.h):
  double expectile = 0.7;               ///< tau, of the values of the actions taken
  double inverse_temperature = 3.0;     ///< beta: actions weigh exp(beta advantage),
  double max_advantage_weight = 100.0;  ///< and at most this
};

struct AlgorithmSettings {
  const AlgorithmKind* kind = &DefaultAlgorithm();  ///< never null
  int trajectory_length = 128;                      ///< T
  int batch_steps = 2048;                           ///< a multiple of T
  int minibatch = 256;
  int epochs = 10;
  double gamma = 0.99, lambda = 0.95;
  double reward_scale = 1.0;          ///< rewards are multiplied by it (reward_scale.h),
  bool normalize_reward = false;      ///< divided by the deviation of the discounted return,
  double reward_clip = 0.0;           ///< and cut to +- this; 0: not cut
  double rho_bar = 1.0, c_bar = 1.0;  ///< V-trace truncation levels
  double rho_pg_bar = 1.0;            ///< of the advantage, where a kind weighs the gradient
  bool normalize_advantage = true;    ///< over the whole batch
  Schedule clip = 0.2;                ///< of the ratio, where a kind clips it
  double dual_clip = 0.0;             ///< of the ratio where the advantage is negative; 0: off
  Schedule entropy = 0.0;
  Schedule learning_rate = 3e-4;
  double value_weight = 0.5;
  double max_grad_norm = 0.5;  ///< 0: not clipped
  OptimizerSettings::Name optimizer = OptimizerSettings::Name::kAdam;
  double optimizer_epsilon = 1e-5, weight_decay = 0.0;
  double optimizer_beta1 = 0.9, optimizer_beta2 = 0.999;  ///< Adam's
  double value_rate_factor = 1.0;                         ///< of the value's learning rate
  double optimizer_decay = 0.99;                          ///< RMSProp's
  double optimizer_momentum = 0.9;                        ///< delta of momentum
  int max_staleness = 16;                                 ///< versions
  StalenessPolicy staleness = StalenessPolicy::kVtrace;
  /// Recurrent models: the first steps of a trajectory, or of a replay's sequence, that only bring
  /// its stored state up to date.
  int burn_in = 0;
  /// Stop the epochs when the policy is further than 1.5 x this from the one that the update
  /// began with (approx_kl), or shorten the step of a batch's only update to that; 0: never.
  double target_kl = 0.0;
  /// The approx_kl of each batch that the learning rate is to bring about (rate_by_kl.h); 0: it is
  /// as scheduled. A config that sets no rate has 0.01.
  double adaptive_kl = 0.0;
  // Algorithms that learn from a replay:
  ReplaySettings replay = {};
  ReplayPolicy policy = {};
  int n_step = 3;            ///< steps of a return before a value stands for the rest
  bool double_q = true;      ///< the best next action is the policy's own choice
  int target_every = 250;    ///< updates after which targets move
  double target_part = 1.0;  ///< how far: 1 copies
  /// Threads that compute a minibatch's gradient together (actor_critic.h); the number decides
  /// the rounding.
  int threads = 1;
};

/// The same for batches of another shape: burn_in stays the same part of T, a replay's sequence as
/// many trajectories, and threads are no more than the trajectories of a recurrent model's minibatch. Where a kind makes many updates of a
/// batch, the minibatch stays the same part of it (32 to 2048 steps, unless it is the whole batch),
/// so that there are as many updates; where it makes one pass, the minibatch stays as it is, so that
/// a larger batch has more of them.
AlgorithmSettings WithShape(AlgorithmSettings settings, const BatchShape& shape, bool recurrent);

/// The settings of [optimizer], with all its numbers.
OptimizerSettings OptimizerOf(const AlgorithmSettings& settings);

}  // namespace murmurate
