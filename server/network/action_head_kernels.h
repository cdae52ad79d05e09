// ActionKernels: what action_head_rows.h and policy_loss.h compute, once for each instruction
// set (action_head_kernels_source.h). Plain structs only: nothing that the linker could merge with
// code for another processor.
#pragma once

#include "server/network/action_head_rows.h"
#include "server/network/policy_loss.h"
#include "shared/compute/dense_kernels.h"

namespace murmurate {

struct ActionCall {
  ActionRows batch;
  const ActionColumn* columns = nullptr;
  int column_count = 0, words = 0, outputs = 0, mask_bytes = 0;
};

struct ActionKernels {
  static const ActionKernels kPlain, kAvx2, kAvx512;

  void (*evaluate)(const ActionCall& call, float* log_prob, float* entropy);
  /// Adds to d_log_deviations.
  void (*gradient)(const ActionCall& call, const float* d_log_prob, const float* d_entropy,
                   float* d_outputs, float* d_log_deviations);
  /// Adds to all of `sums` but the weight, which is W already.
  void (*clipped_policy)(const PolicyLossSettings& settings, const PolicyLossRows& batch,
                         PolicyLossSums* sums, float* d_log_prob, float* d_entropy,
                         float* d_values);
  /// The same of PolicyGradientLoss.
  void (*policy_gradient)(const PolicyLossSettings& settings, const PolicyLossRows& batch,
                          PolicyLossSums* sums, float* d_log_prob, float* d_entropy,
                          float* d_values);
};

}  // namespace murmurate
