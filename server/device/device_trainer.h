// Stand-in: the lead has the real one.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "server/compute/device/device_memory.h"
#include "server/learn/batch_trainer.h"
#include "shared/model/model_spec.h"

namespace murmurate {

/// Bytes of a device's memory that a trainer needs.
struct DeviceMemoryNeed {
  std::array<std::size_t, kMemoryPurposes> by_purpose = {};
  std::size_t total = 0;
};

/// `batches`: so many go round. No device is needed.
DeviceMemoryNeed MeasureDeviceMemory(const ModelSpec& spec, const AlgorithmSettings& settings,
                                     int batches);

/// `store`: where the parameters are stepped; null: on the device.
Result<std::unique_ptr<BatchTrainer>> MakeDeviceTrainer(const ModelSpec& spec,
                                                        const AlgorithmSettings& settings,
                                                        std::shared_ptr<Device> device,
                                                        std::unique_ptr<ParameterStore> store);

}  // namespace murmurate
