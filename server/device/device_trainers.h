// Which models a device trains, what that takes of its memory, and the trainer of each:
//
//   DeviceTrainer         on-policy algorithms, labels   device_trainer.h
//   DeviceReplayTrainer   algorithms of a replay         device_replay_trainer.h
#pragma once

#include <array>
#include <memory>

#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/learn/batch_trainer.h"

namespace murmurate {

/// Not ok (kInvalidArgument): a device does not train this model by this algorithm; one sentence says
/// why, and what to write.
Status CheckDeviceTrains(const ModelSpec& spec, const AlgorithmSettings& settings);

/// Bytes on a device, for what.
struct DeviceMemoryNeed {
  std::array<std::size_t, kMemoryPurposes> by_purpose = {};
  std::size_t total = 0;
};

/// What a trainer of this model and these settings, which have passed CheckDeviceTrains, takes of a
/// device, before there is one. `steps_here`: no ParameterStore of others steps them. `arithmetic`: of
/// the device.
DeviceMemoryNeed MeasureDeviceMemory(const ModelSpec& spec, const AlgorithmSettings& settings,
                                     bool steps_here = true,
                                     const DeviceArithmetic& arithmetic = {});

/// `store`: where the parameters are stepped; null: on the device, by the optimizer of `settings`.
/// Parameters are zeros until SetParameters. The status says what of memory is missing, or what
/// CheckDeviceTrains says, or that a replay's parameters have a store (kInvalidArgument).
Result<std::unique_ptr<BatchTrainer>> MakeDeviceTrainer(
    const ModelSpec& spec, const AlgorithmSettings& settings, std::shared_ptr<Device> device,
    std::unique_ptr<ParameterStore> store = nullptr);

}  // namespace murmurate
