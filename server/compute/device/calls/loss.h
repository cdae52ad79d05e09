// The calls of losses: server/network/policy_loss.h and label_loss.h on a device. All of one loss
// have the same number of blocks and threads, one thread a row, but for those that finish: one
// block.
#pragma once

#include <cstdint>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/calls/head.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// The sums over rows that a loss counts: the first ones of TrainingControl::sums, in the order of
/// server/learn/on_policy_sums.h and label_sums.h.
inline constexpr int kLossSums = 6;
inline constexpr int kPolicyKlSum = 4;           ///< of a policy's
inline constexpr std::uint32_t kLossRows = 128;  ///< of a block

/// Sums that blocks leave for the block that finishes.
struct LossParts {
  const double* weight;  ///< [blocks], of the minibatch
  double* sums;          ///< [blocks][kLossSums]
  double* deviations;    ///< [blocks][free_deviations]
};

struct PolicyLossCall {
  static constexpr KernelId kKernel = KernelId::kPolicyLoss;
  const TrainingControl* control;
  HeadTable head;
  HeadRows batch;
  int rows;
  bool clips_ratio;  ///< the clipped ratio's loss; else the policy gradient's
  const float *weight, *behaviour_log_prob, *start_log_prob, *advantage, *value_target, *values;
  float *d_outputs, *d_values;
  LossParts parts;
};

struct LabelLossCall {
  static constexpr KernelId kKernel = KernelId::kLabelLoss;
  const TrainingControl* control;
  HeadTable head;
  HeadRows batch;
  int rows;
  bool squared_error;  ///< of numbers; else their likelihood
  const float* weight;
  float *d_outputs, *d_values;  ///< d_values may be null
  LossParts parts;
};

/// Adds up the parts of a loss, and ends the pass: one block.
struct FinishLossCall {
  static constexpr KernelId kKernel = KernelId::kFinishLoss;
  TrainingControl* control;
  LossParts parts;
  int blocks, free_deviations;
  float* d_log_deviations;
  int updates_sum;  ///< of a policy's loss, the place of TrainingControl::sums
  /// Of a label's loss, where the sums over what is scored begin; -1: there are none.
  int scored_sums;
};

}  // namespace murmurate
