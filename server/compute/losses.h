// Losses: gradients of a loss with respect to a network's outputs, one weight per row.
#pragma once

#include <cstdint>
#include <span>

namespace murmurate {

struct PpoLossSettings {
  float clip = 0.2f;
  float entropy = 0.0f;       ///< coefficient of the entropy bonus
  float value_weight = 0.5f;  ///< coefficient of the value loss
};

/// Weighted sums over the rows of one minibatch: divide by `weight` for means.
struct PpoLossSums {
  double weight = 0, policy_loss = 0, value_loss = 0, entropy = 0, approx_kl = 0, clipped = 0;
};

/// Clipped surrogate (arXiv 1707.06347) with r = pi_theta / mu, mu the behaviour policy:
///   L = 1/W sum_i w_i [ -min(r A, clip(r, 1-e, 1+e) A) + value_weight * 0.5 (V - target)^2
///                       - entropy * H(pi) ],  W = sum_i w_i
/// logits [rows][actions], the others [rows]; writes d_logits [rows][actions] and d_values [rows],
/// the gradients of L. Rows of weight 0 get zero gradients whatever they hold. approx_kl is the k3
/// estimator (r - 1) - log r.
PpoLossSums PpoLoss(const PpoLossSettings& settings, int rows, int actions, const float* logits,
                    const float* values, const std::int32_t* action,
                    const float* behaviour_log_prob, const float* advantage,
                    const float* value_target, const float* weight, float* d_logits,
                    float* d_values);

/// log softmax(logits)[action] of each row.
void LogProbabilities(int rows, int actions, const float* logits, const std::int32_t* action,
                      float* log_prob);

}  // namespace murmurate
