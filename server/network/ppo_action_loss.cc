#include "server/network/ppo_action_loss.h"

#include "server/network/action_head_kernels.h"

namespace murmurate {
namespace {

double WeightOf(const PpoActionRows& batch) {
  double weight = 0;
  for (int i = 0; i < batch.rows; ++i) weight += batch.weight[i];
  return weight;
}

PpoActionRows WithStart(PpoActionRows batch) {
  if (batch.start_log_prob == nullptr) batch.start_log_prob = batch.behaviour_log_prob;
  return batch;
}

const ActionKernels& Chosen(const ActionKernels* kernels) {
  return kernels == nullptr ? BestActionKernels() : *kernels;
}

}  // namespace

PpoLossSums PpoActionLoss(const PpoLossSettings& settings, const PpoActionRows& batch,
                          float* d_log_prob, float* d_entropy, float* d_values,
                          const ActionKernels* kernels) {
  PpoLossSums sums{.weight = WeightOf(batch)};
  Chosen(kernels).ppo(settings, WithStart(batch), &sums, d_log_prob, d_entropy, d_values);
  return sums;
}

PpoLossSums PolicyGradientLoss(const PpoLossSettings& settings, const PpoActionRows& batch,
                               float* d_log_prob, float* d_entropy, float* d_values,
                               const ActionKernels* kernels) {
  PpoLossSums sums{.weight = WeightOf(batch)};
  Chosen(kernels).policy_gradient(settings, WithStart(batch), &sums, d_log_prob, d_entropy,
                                  d_values);
  return sums;
}

}  // namespace murmurate
