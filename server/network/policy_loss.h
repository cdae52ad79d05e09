// Losses of a policy and its value over any action space, from log-probabilities and entropies
// instead of logits: the clipped ratio's and the plain policy gradient's.
#pragma once

namespace murmurate {

struct ActionKernels;

struct PolicyLossSettings {
  float clip = 0.2f;
  float dual_clip = 0.0f;     ///< c, above 1; 0: off
  float entropy = 0.0f;       ///< coefficient of the entropy bonus
  float value_weight = 0.5f;  ///< coefficient of the value loss
};

/// Weighted sums over the rows of one minibatch: divide by `weight` for means.
struct PolicyLossSums {
  double weight = 0, policy_loss = 0, value_loss = 0, entropy = 0, approx_kl = 0, clipped = 0;
};

/// One minibatch; every pointer has `rows` numbers.
struct PolicyLossRows {
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

/// Clipped surrogate (arXiv 1707.06347) with r = pi_theta / mu, mu the behaviour policy:
///   L = 1/W sum_i w_i [ -min(r A, clip(r, 1-e, 1+e) A) + value_weight * 0.5 (V - target)^2
///                       - entropy * H(pi) ],  W = sum_i w_i
/// With dual_clip = c (Ye et al. 2020, arXiv 1912.09729), where A < 0 the surrogate is at least c A:
///   max(min(r A, clip(r) A), c A)
/// so that a step which became c times as likely since it was played has no gradient any more:
/// without, r A has no bound there.
/// Writes the gradients of L: d_log_prob and d_entropy (for ActionHeadRows::Gradient) and d_values,
/// [rows] each. Rows of weight 0 get zero gradients whatever they hold. approx_kl is the k3
/// estimator (r - 1) - log r of pi_theta against the policy that the update began with, as
/// Stable-Baselines3 has it, so that late experience does not count as a change of the policy.
/// `kernels`: null for the best that this processor runs.
PolicyLossSums ClippedPolicyLoss(const PolicyLossSettings& settings, const PolicyLossRows& batch,
                                 float* d_log_prob, float* d_entropy, float* d_values,
                                 const ActionKernels* kernels = nullptr);

/// The actor-critic's policy gradient (Mnih et al. 2016, arXiv 1602.01783; with weighted advantages
/// IMPALA's, arXiv 1802.01561), as means over the rows:
///   L = 1/W sum_i w_i [ -A log pi(a|x) + value_weight * 0.5 (V - target)^2 - entropy * H(pi) ]
/// Published IMPALA constants belong to sums over a batch of N rows: weights of the loss's parts
/// and rates of Adam or RMSProp carry over as they are, a clip of 40 is 40 / N here, an epsilon e
/// is e / N outside the root and e / N^2 inside it. A is a constant: no gradient flows through it.
/// Rows of weight 0 and what is written as above; neither clip is read and sums.clipped stays 0. Nothing depends on the behaviour policy where start_log_prob is given.
PolicyLossSums PolicyGradientLoss(const PolicyLossSettings& settings, const PolicyLossRows& batch,
                                  float* d_log_prob, float* d_entropy, float* d_values,
                                  const ActionKernels* kernels = nullptr);

}  // namespace murmurate
