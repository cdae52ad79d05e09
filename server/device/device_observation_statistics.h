// DeviceObservationStatistics: counts the observations of a batch into the parameters' statistics
// section on a device: all rows of the plan's trajectories with a weight above 0, merged once
// (UpdateObservationStatistics of server/network/actor_critic.h merges each trajectory, which gives
// the same up to rounding).
#pragma once

#include <cstdint>
#include <vector>

#include "server/compute/device/calls/observation_statistics.h"
#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class DeviceObservationStatistics {
 public:
  DeviceObservationStatistics(const ModelSpec& spec, const AlgorithmSettings& settings,
                              DeviceMemory* memory);

  /// Whether the model normalizes some number; else nothing here does anything.
  bool counts() const { return !words_.empty(); }
  /// Copies its tables to the device: once, before all else.
  void Upload(Device* device, Stream stream) const;
  /// `observation` [batch rows][row words] and `weight` [batch rows] of the batch; `statistics`: that
  /// section of a block of parameters.
  void EnqueueUpdate(Device* device, Stream stream, const DevicePlan& plan,
                     const float* observation, const float* weight, float* statistics) const;

 private:
  Grid grid() const;
  ObservationParts parts() const { return {sums_.data(), squares_.data(), rows_.data()}; }

  const int length_, row_words_;
  std::vector<std::int32_t> words_;                           ///< where in a row each number lies
  std::size_t count_at_ = 0, mean_at_ = 0, variance_at_ = 0;  ///< in the section
  std::uint32_t blocks_ = 1;
  DeviceArray<std::int32_t> word_;
  DeviceArray<double> sums_, squares_, rows_;
};

}  // namespace murmurate
