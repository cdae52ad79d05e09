// Losses over any action space, from log-probabilities and entropies instead of logits: PPO's, and
// the plain policy gradient of impala and a2c.
// (server/compute/losses.h is the same for one plain discrete action, in one pass.)
#pragma once

#include "server/compute/losses.h"

namespace murmurate {

struct ActionKernels;

/// One minibatch; every pointer has `rows` numbers.
struct PpoActionRows {
  int rows = 0;
  const float* log_prob = nullptr;  ///< ActionHeadRows::Evaluate
  const float* entropy = nullptr;
  const float* values = nullptr;
  const float* behaviour_log_prob = nullptr;
  const float* advantage = nullptr;
  const float* value_target = nullptr;
  const float* weight = nullptr;
  /// log pi(a|x) when the update began, which approx_kl is measured from; null: the behaviour's.
  const float* start_log_prob = nullptr;
};

/// The loss, the sums and the treatment of rows of weight 0 are those of PpoLoss (losses.h), but
/// approx_kl is k3 of pi_theta against the policy that the update began with, as Stable-Baselines3
/// has it, so that late experience does not count as a change of the policy. Writes the gradients
/// of L: d_log_prob and d_entropy (for ActionHeadRows::Gradient) and d_values, [rows] each.
/// `kernels`: null for the best that this processor runs.
PpoLossSums PpoActionLoss(const PpoLossSettings& settings, const PpoActionRows& batch,
                          float* d_log_prob, float* d_entropy, float* d_values,
                          const ActionKernels* kernels = nullptr);

/// The actor-critic's policy gradient (Mnih et al. 2016, arXiv 1602.01783; with weighted advantages
/// IMPALA's, arXiv 1802.01561), as means over the rows:
///   L = 1/W sum_i w_i [ -A log pi(a|x) + value_weight * 0.5 (V - target)^2 - entropy * H(pi) ]
/// Published IMPALA constants belong to sums over a batch of N rows: weights of the loss's parts
/// and rates of Adam or RMSProp carry over as they are, a clip of 40 is 40 / N here, an epsilon e
/// is e / N outside the root and e / N^2 inside it. A is a constant: no gradient flows through it.
/// Rows of weight 0 and what is written as above; `settings.clip` is not read and sums.clipped
/// stays 0. Nothing depends on the behaviour policy where start_log_prob is given.
PpoLossSums PolicyGradientLoss(const PpoLossSettings& settings, const PpoActionRows& batch,
                               float* d_log_prob, float* d_entropy, float* d_values,
                               const ActionKernels* kernels = nullptr);

}  // namespace murmurate
