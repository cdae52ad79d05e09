#include "shared/network/ppo_action_loss.h"

#include "shared/network/action_head_kernels.h"

namespace murmurate {

PpoLossSums PpoActionLoss(const PpoLossSettings& settings, const PpoActionRows& batch,
                          float* d_log_prob, float* d_entropy, float* d_values,
                          const ActionKernels* kernels) {
  PpoLossSums sums;
  for (int i = 0; i < batch.rows; ++i) sums.weight += batch.weight[i];
  (kernels == nullptr ? BestActionKernels() : *kernels)
      .ppo(settings, batch, &sums, d_log_prob, d_entropy, d_values);
  return sums;
}

}  // namespace murmurate
