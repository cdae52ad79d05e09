// LearnReport: what came of one batch.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "murmurate/status.h"
#include "server/metrics/metric.h"
#include "server/parameters/parameter_store.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// The results of labels (label_loss.h); NaN where there is nothing to take a mean of.
struct LabelReport {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  double loss = kNone, accuracy = kNone, error = kNone;  ///< over what was learned from
  /// Over `eval_rows` rows that had not been learned from: those of a batch that is held out, or
  /// the first pass over what actors sent, whose every row is scored before it is learned from.
  double eval_rows = 0, eval_loss = kNone, eval_accuracy = kNone;
};

/// The names follow Stable-Baselines3.
struct LearnReport : LabelReport {
  std::uint64_t version = 0, updates = 0;
  std::uint64_t trained_steps = 0;  ///< learned from: neither dropped nor burned in
  double policy_loss = 0, value_loss = 0, entropy = 0, clip_fraction = 0;
  double approx_kl = 0;  ///< k3 of the policy against the one that the update began with
  double lag_kl = 0;     ///< k3 of the policy that the update began with against what played
  /// Of the batch as its update begins (advantages.h); NaN where an algorithm has no such thing.
  double effective_share = kNone, truncated_share = kNone, target_mean = kNone,
         target_deviation = kNone, advantage_mean = kNone, advantage_deviation = kNone;
  double policy_deviation = kNone;  ///< mean standard deviation of its continuous parts
  /// Of the gradient's parts before it is clipped, means over the updates: the policy's network,
  /// and the value's own layers.
  double policy_grad_norm = kNone, value_grad_norm = kNone;
  double explained_variance = 0, grad_norm = 0, learning_rate = 0, clip_range = 0;
  double staleness_min = 0, staleness_mean = 0, staleness_max = 0;  ///< versions, as it began
  std::uint64_t stale_trajectories = 0, late_steps = 0;             ///< dropped for their age
  std::uint64_t skipped_updates = 0;         ///< left out: the gradient was not finite
  std::vector<EpisodeRecord> episodes = {};  ///< finished, as the actors counted them
  bool held_out = false;  ///< nothing was learned, and the version is the one before
  /// The batch was new to a replay, which learns from it later: its experience is counted, and
  /// nothing else was measured.
  bool counted_only = false;
  bool left_out = false;  ///< the batch was: its learner was told not to wait for the others
  /// Not ok: its trainer failed during the batch (BatchTrainer::Health), which was left out.
  Status failure = {};
  double learn_s = 0;            ///< that it took, waits for others included
  ExchangeReport exchange = {};  ///< of a learner that shares its parameters
  Measurements metrics = {};     ///< what its algorithm declares of its own (metric.h)
};

}  // namespace murmurate
