// DeviceStepBench: one training step of a row on a device, replayed: gather, forward, loss, backward,
// norm, clip and optimizer, with no upload and no wait between one and the next.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "bench/counting_device.h"
#include "bench/device_models.h"
#include "server/device/device_engine.h"
#include "server/learn/batch_planner.h"

namespace murmurate {

class DeviceStepBench {
 public:
  /// The device must outlive it. The status says what of memory is missing.
  static Result<std::unique_ptr<DeviceStepBench>> Make(const DeviceStepRow& row, Device* device);

  /// A line of results; `rounds` batches are timed.
  Result<nlohmann::json> Measure(int rounds);

 private:
  DeviceStepBench(const DeviceStepRow& row, Device* device);
  Status Start();
  double TimeBatch();

  const DeviceStepRow row_;
  CountingDevice device_;
  TrainingBatch batch_;
  BatchPlanner planner_;
  DeviceEngine engine_;
  int nodes_ = 0;
  std::size_t taken_bytes_ = 0;
};

}  // namespace murmurate
