// DeviceOptimizer: steps the trained parameters on a device, as LocalStore with the optimizer of
// the settings does: finite guard, clip by the norm, weight decay of kernels, the rule, the value's
// own rate, momentum's look-ahead.
//
//   EnqueueStep   control->norm, part_norms, finite <- of this gradient
//                 control->updates, skipped, norms, optimizer_steps <- counted
//                 gradient -> parameters, in one pass
//
// Nothing changes where the batch was left (control->stopped) or is only scored (control->scores).
// Its state has the form of the host optimizers' in checkpoints: what one saves the other loads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/compute/device/calls/control.h"
#include "server/compute/device/calls/optimizer.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"

namespace murmurate {

/// Of GradientNormCall, whose threads have several numbers each.
Grid GradientNormGrid(std::size_t count);

class DeviceOptimizer {
 public:
  /// `norm_sums`: of the loss (DeviceLoss::norm_sums).
  DeviceOptimizer(const ParameterLayout& layout, const AlgorithmSettings& settings, int norm_sums,
                  DeviceMemory* memory);

  /// Copies its tables to the device: once, before all else.
  void Upload(Device* device, Stream stream) const;
  /// Resets the state to first_value() and control->optimizer_steps to 0. Call it once before the
  /// first step, too.
  void EnqueueForget(Device* device, Stream stream, TrainingControl* control) const;

  /// Both have layout.trained_count() numbers; the padding between tensors holds zeros. `joined`: of a
  /// mean over ranks, the number of them that is in it (DeviceRankMean), which 0 makes no step; null:
  /// the learner is no rank. Of a rank, norms are not added to control->sums.
  void EnqueueStep(Device* device, Stream stream, TrainingControl* control, const float* gradient,
                   float* parameters, const float* joined = nullptr) const;
  /// After a step: takes back a part of it where control->kl, measured since, is above
  /// control->most_kl (HostTrainer's way with a batch's only update). settings.target_kl must be
  /// above 0.
  void EnqueueShorten(Device* device, Stream stream, const TrainingControl* control,
                      float* parameters) const;

  // The state between steps: columns of trained_count() numbers, one after the other, which begin as
  // first_value().
  float first_value() const { return first_value_; }
  std::size_t state_floats() const { return columns_.size(); }
  /// `to`: host memory for state_floats() that copies reach.
  void EnqueueSave(Device* device, Stream stream, float* to) const;
  void EnqueueLoad(Device* device, Stream stream, const float* from) const;
  /// Writes a state that was copied to the host. `steps`: control->optimizer_steps.
  void Save(const StateWriter& writer, std::span<const float> state, std::uint64_t steps) const;
  /// Fills `state` and `steps` for EnqueueLoad and control->optimizer_steps.
  Status Load(const StateReader& reader, std::span<float> state, std::uint64_t* steps) const;

 private:
  float* column(std::size_t i) const;
  Grid grid() const;

  const OptimizerNumbers numbers_;
  const std::size_t count_, value_begin_;
  const int norm_sums_;
  const std::vector<const char*> names_;  ///< of the columns
  const float first_value_;               ///< of every column
  std::vector<std::uint8_t> kinds_;
  DeviceArray<float> columns_, before_;
  DeviceArray<std::uint8_t> number_;
  DeviceArray<double> parts_;
  DeviceArray<StepNumbers> step_;
};

}  // namespace murmurate
