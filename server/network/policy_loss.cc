#include "server/network/policy_loss.h"

#include "server/network/action_head_kernels.h"

namespace murmurate {
namespace {

double WeightOf(const PolicyLossRows& batch) {
  double weight = 0;
  for (int i = 0; i < batch.rows; ++i) weight += batch.weight[i];
  return weight;
}

PolicyLossRows WithStart(PolicyLossRows batch) {
  if (batch.start_log_prob == nullptr) batch.start_log_prob = batch.behaviour_log_prob;
  return batch;
}

const ActionKernels& Chosen(const ActionKernels* kernels) {
  return kernels == nullptr ? BestKernels<ActionKernels>() : *kernels;
}

}  // namespace

PolicyLossSums ClippedPolicyLoss(const PolicyLossSettings& settings, const PolicyLossRows& batch,
                                 float* d_log_prob, float* d_entropy, float* d_values,
                                 const ActionKernels* kernels) {
  PolicyLossSums sums{.weight = WeightOf(batch)};
  Chosen(kernels).clipped_policy(settings, WithStart(batch), &sums, d_log_prob, d_entropy,
                                 d_values);
  return sums;
}

PolicyLossSums PolicyGradientLoss(const PolicyLossSettings& settings, const PolicyLossRows& batch,
                                  float* d_log_prob, float* d_entropy, float* d_values,
                                  const ActionKernels* kernels) {
  PolicyLossSums sums{.weight = WeightOf(batch)};
  Chosen(kernels).policy_gradient(settings, WithStart(batch), &sums, d_log_prob, d_entropy,
                                  d_values);
  return sums;
}

}  // namespace murmurate
