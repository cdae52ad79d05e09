// The calls of the mean over ranks (server/device/device_rank_mean.h).
#pragma once

#include <cstddef>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// Makes a gradient what this rank adds to the sum: itself, or zeros where the batch was left or the
/// rank has no update any more. gradient[count] <- 1 or 0, control->adds <- the same.
struct ShareGradientCall {
  static constexpr KernelId kKernel = KernelId::kShareGradient;
  TrainingControl* control;
  float* gradient;  ///< [count + 1]
  std::size_t count;
  bool joins;  ///< this rank has no update any more
};

/// Adds the norms of this rank's own gradient to control->sums, where it adds to the sum: one block.
struct CountOwnNormsCall {
  static constexpr KernelId kKernel = KernelId::kCountOwnNorms;
  TrainingControl* control;
  const double* parts;  ///< of GradientNormCall
  int blocks;
  int norm_sums;  ///< as FinishNormCall has it
};

/// gradient <- gradient / gradient[count]: the sum over ranks becomes their mean.
struct DivideByRanksCall {
  static constexpr KernelId kKernel = KernelId::kDivideByRanks;
  float* gradient;  ///< [count + 1]
  std::size_t count;
};

}  // namespace murmurate
