#include "server/compute/losses.h"

#include "server/compute/learner_kernels.h"

namespace murmurate {

PpoLossSums PpoLoss(const PpoLossSettings& settings, int rows, int actions, const float* logits,
                    const float* values, const std::int32_t* action,
                    const float* behaviour_log_prob, const float* advantage,
                    const float* value_target, const float* weight, float* d_logits,
                    float* d_values) {
  PpoLossSums sums;
  for (int i = 0; i < rows; ++i) sums.weight += weight[i];
  BestLearnerKernels().ppo_loss(
      {.settings = settings,
       .scale = sums.weight > 0 ? static_cast<float>(1.0 / sums.weight) : 0.0f,
       .rows = rows,
       .actions = actions,
       .logits = logits,
       .values = values,
       .action = action,
       .behaviour_log_prob = behaviour_log_prob,
       .advantage = advantage,
       .value_target = value_target,
       .weight = weight,
       .d_logits = d_logits,
       .d_values = d_values},
      &sums);
  return sums;
}

void LogProbabilities(int rows, int actions, const float* logits, const std::int32_t* action,
                      float* log_prob) {
  BestLearnerKernels().log_probabilities(rows, actions, logits, action, log_prob);
}

}  // namespace murmurate
