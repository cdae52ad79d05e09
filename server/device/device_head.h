// DeviceHead: a policy's head on a device: the log-probabilities and entropies of recorded actions
// of any space, as server/network/action_head_rows.h has them. Their gradients are part of a loss
// (device_loss.h), which reads the same table.
#pragma once

#include <vector>

#include "server/compute/device/calls/head.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class DeviceHead {
 public:
  /// Plans the memory of the table.
  DeviceHead(const ModelSpec& spec, DeviceMemory* memory);

  /// Copies the table to the device: once, before all else.
  void Upload(Device* device, Stream stream) const;

  /// Writes log_prob [rows], and entropy and deviation [rows] unless null. `deviation`: the mean
  /// standard deviation of a row's continuous numbers.
  void Evaluate(Device* device, Stream stream, const HeadRows& batch, int rows, float* log_prob,
                float* entropy, float* deviation, TrainingControl* control = nullptr) const;

  /// Whether some part is continuous.
  bool has_deviations() const { return shape_.deviations > 0; }
  int outputs() const { return shape_.outputs; }
  int free_deviations() const { return shape_.free_deviations; }
  /// For calls; memory must have been allocated.
  HeadTable table() const;

 private:
  std::vector<HeadColumn> columns_;
  HeadTable shape_;  ///< without columns
  DeviceArray<HeadColumn> on_device_;
};

}  // namespace murmurate
