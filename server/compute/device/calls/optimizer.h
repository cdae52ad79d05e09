// The calls of optimizers: server/parameters/local_store.h, optimizers.h, weight_decay.h and
// value_rate.h on a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

enum class DeviceOptimizerRule : std::uint8_t { kAdam, kRmsProp, kSgd, kMomentum, kAdagrad };

/// The numbers of an optimizer that stay.
struct OptimizerNumbers {
  DeviceOptimizerRule rule;
  float beta1, beta2, epsilon;  ///< beta1: RMSProp's decay and momentum's delta, too
  float weight_decay, value_rate;
  double max_grad_norm;  ///< 0: never clip
};

/// The numbers of one step, on the device.
struct StepNumbers {
  std::uint32_t steps;    ///< 0: this update steps nothing
  float rate, scale;      ///< scale: of the gradient, which clips it
  float adam_rate, root;  ///< the rate, and a factor of the second moment's root, without bias
  float kept;             ///< of a kernel's parameter
};

/// What a trained number is.
inline constexpr std::uint8_t kKernelNumber = 1, kValueNumber = 2;

/// parts <- sums of squares before and from `value_begin`; control->present_step.
struct GradientNormCall {
  static constexpr KernelId kKernel = KernelId::kGradientNorm;
  TrainingControl* control;
  const float* gradient;
  std::size_t count, value_begin;
  double* parts;        ///< [blocks][2]
  const float* joined;  ///< of ranks: how many have a gradient; null: this learner is no rank
};

/// The gradient's norms, from them what the step is to be, and the step. Every block adds up the
/// parts by itself, in the same order; the first one counts. Any number of blocks.
struct StepParametersCall {
  static constexpr KernelId kKernel = KernelId::kStepParameters;
  TrainingControl* control;
  const double* parts;
  int part_count;
  int norm_sums;  ///< the first of the two places of TrainingControl::sums for part_norms; -1: none
  const float* joined;  ///< as above; what other ranks step alone is not counted in the control
  StepNumbers* step;    ///< for what comes after
  OptimizerNumbers numbers;
  std::size_t count;
  const float* gradient;
  float* parameters;
  float *first, *second;       ///< the optimizer's columns; null: it has none
  float* before;               ///< gets the parameters before the step; null: not wanted
  const std::uint8_t* number;  ///< what each is; null: nothing depends on it
};

/// Takes back a part of the last step where control->kl is above control->most_kl.
struct ShortenStepCall {
  static constexpr KernelId kKernel = KernelId::kShortenStep;
  const TrainingControl* control;
  const StepNumbers* step;
  std::size_t count;
  const float* before;
  float* parameters;
};

struct FillNumbersCall {
  static constexpr KernelId kKernel = KernelId::kFillNumbers;
  float* to;
  std::size_t count;
  float value;
};

}  // namespace murmurate
