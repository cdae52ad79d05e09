#include "shared/compute/losses.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

float LogSum(int actions, const float* logits) {
  const float top = *std::max_element(logits, logits + actions);
  double sum = 0;
  for (int j = 0; j < actions; ++j) sum += std::exp(logits[j] - top);
  return top + static_cast<float>(std::log(sum));
}

}  // namespace

PpoLossSums PpoLoss(const PpoLossSettings& settings, int rows, int actions, const float* logits,
                    const float* values, const std::int32_t* action,
                    const float* behaviour_log_prob, const float* advantage,
                    const float* value_target, const float* weight, float* d_logits,
                    float* d_values) {
  PpoLossSums sums;
  for (int i = 0; i < rows; ++i) sums.weight += weight[i];
  const float scale = sums.weight > 0 ? static_cast<float>(1.0 / sums.weight) : 0.0f;
  for (int i = 0; i < rows; ++i) {
    const float* x = logits + std::ptrdiff_t{i} * actions;
    float* dx = d_logits + std::ptrdiff_t{i} * actions;
    if (!(weight[i] > 0)) {
      std::fill(dx, dx + actions, 0.0f);
      d_values[i] = 0;
      continue;
    }
    const float log_sum = LogSum(actions, x);
    float entropy = 0;
    for (int j = 0; j < actions; ++j) entropy -= std::exp(x[j] - log_sum) * (x[j] - log_sum);
    const float log_ratio = x[action[i]] - log_sum - behaviour_log_prob[i];
    const float ratio = std::exp(log_ratio), a = advantage[i];
    const float clipped = std::clamp(ratio, 1 - settings.clip, 1 + settings.clip);
    const bool open = ratio * a <= clipped * a;
    const float slope = open ? -a * ratio : 0.0f;
    const float w = weight[i], error = values[i] - value_target[i];
    for (int j = 0; j < actions; ++j) {
      const float p = std::exp(x[j] - log_sum);
      dx[j] = w * scale *
              (slope * ((j == action[i]) - p) + settings.entropy * p * (x[j] - log_sum + entropy));
    }
    d_values[i] = w * scale * settings.value_weight * error;
    sums.policy_loss += -w * std::min(ratio * a, clipped * a);
    sums.value_loss += w * 0.5 * error * error;
    sums.entropy += w * entropy;
    sums.approx_kl += w * (ratio - 1 - log_ratio);
    sums.clipped += ratio == clipped ? 0 : w;
  }
  return sums;
}

void LogProbabilities(int rows, int actions, const float* logits, const std::int32_t* action,
                      float* log_prob) {
  for (int i = 0; i < rows; ++i, logits += actions)
    log_prob[i] = logits[action[i]] - LogSum(actions, logits);
}

}  // namespace murmurate
