// DeviceTargets: the networks of a model that follow others, on a device
// (server/network/target_networks.h).
#pragma once

#include <vector>

#include "server/compute/device/calls/replay.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

class DeviceTargets {
 public:
  /// Plans the memory of its table.
  DeviceTargets(const ModelSpec& spec, const ParameterLayout& layout, DeviceMemory* memory);

  /// Copies the table to the device: once, before all else.
  void Upload(Device* device) const;
  /// After the optimizer's step: targets move as the pass that has ended says (ReplayHead).
  void EnqueueMove(Device* device, const TrainingControl* control, const ReplayLists& lists,
                   float* parameters) const;

 private:
  std::vector<TargetTensor> tensors_;
  std::size_t largest_ = 0;  ///< floats of a tensor
  DeviceArray<TargetTensor> on_device_;
};

}  // namespace murmurate
