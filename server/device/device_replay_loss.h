// DeviceReplayLoss: what an algorithm that learns from a replay computes of a pass, on a device: the
// networks' values, the error of each step, the gradient. One class for each LossForm::Kind of a
// replay (server/learn/loss_form.h):
//
//   device_choice_loss.h   kChoiceValues (dqn)
//   device_soft_loss.h     kSoftNumbers (sac)
//
// Everything is enqueued on the main stream with the same arguments every time. Sums are those of
// server/learn/replay_algorithm.h.
#pragma once

#include <memory>

#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_inputs.h"
#include "server/device/replay_passes.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"

namespace murmurate {

/// What a loss is made of; all of it must outlive the loss. `inputs`: of the rows that a pass's
/// networks see, the steps and then where their returns end.
struct DeviceReplayRequest {
  const ModelSpec& spec;
  const AlgorithmSettings& settings;
  const ParameterLayout& layout;
  const ReplayPasses& passes;
  const DeviceInputs& inputs;
  DevicePrecision precision;  ///< of the device that is to compute it
  DeviceMemory* memory;
};

/// Where a loss's kernels find the present pass, and where they leave its errors.
struct DeviceReplayStep {
  Device* device = nullptr;
  TrainingControl* control = nullptr;
  const float* parameters = nullptr;  ///< the whole block, on the device
  float* distance = nullptr;          ///< [passes][rows]: mean distance of values from targets
};

class DeviceReplayLoss {
 public:
  virtual ~DeviceReplayLoss() = default;

  /// Copies its tables to the device: once, after memory is allocated and before all else. The status
  /// says that the host has no memory left.
  virtual Status Start(Device* device) = 0;

  /// The errors of the present pass's steps, of which nothing is learned or counted; the pass ends.
  virtual void EnqueueErrors(const DeviceReplayStep& step) = 0;
  /// The errors and the gradient of the present pass: every tensor of `gradient`, of all trained
  /// parameters; counts the pass, and ends it.
  virtual void EnqueueGradient(const DeviceReplayStep& step, float* gradient) = 0;

  // What it carries from update to update beside parameters, as server/learn's algorithm saves it.
  virtual void EnqueueDown(Device* /*device*/) {}
  virtual void Adopt() {}  ///< after what EnqueueDown enqueued has come: Save gives it from now on
  virtual void Save(const StateWriter& /*writer*/) const {}
  /// Waits for nothing; the device reads the state until it has come to what follows.
  virtual Status Load(Device* /*device*/, const StateReader& /*reader*/) { return {}; }
};

/// How many numbers the loss of settings.kind has drawn for each row that its networks see.
int NoiseOfReplayLoss(const ModelSpec& spec, const AlgorithmSettings& settings);
/// The loss of settings.kind, whose form must be a replay's.
std::unique_ptr<DeviceReplayLoss> MakeDeviceReplayLoss(const DeviceReplayRequest& request);

}  // namespace murmurate
