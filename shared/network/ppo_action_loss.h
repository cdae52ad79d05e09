// PPO's loss over any action space: from log-probabilities and entropies instead of logits.
// (shared/compute/losses.h is the same for one plain discrete action, in one pass.)
#pragma once

#include "shared/compute/losses.h"

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
};

/// The loss, the sums and the treatment of rows of weight 0 are those of PpoLoss (losses.h); writes
/// the gradients of L: d_log_prob and d_entropy (for ActionHeadRows::Gradient) and d_values, [rows]
/// each. `kernels`: null for the best that this processor runs.
PpoLossSums PpoActionLoss(const PpoLossSettings& settings, const PpoActionRows& batch,
                          float* d_log_prob, float* d_entropy, float* d_values,
                          const ActionKernels* kernels = nullptr);

}  // namespace murmurate
