// ForecastNetwork: the network of a stream, one pass of it over the newest rows of many devices.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "server/stream/device.h"
#include "shared/core/aligned_floats.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "shared/weights/weights.h"

namespace murmurate {

class ForecastNetwork {
 public:
  using Devices = std::span<const std::shared_ptr<StreamDevice>>;
  static constexpr std::size_t kMostRows = 64;  ///< that run fused in the cache (policy.h)

  /// `settings` and `shape` outlive it.
  ForecastNetwork(const ForecastSettings& settings, const DeviceShape& shape,
                  const ModelSpec& spec);

  void ApplyWeights(const Snapshot& snapshot);
  std::uint64_t version() const { return version_; }  ///< of the weights; 0: none yet
  /// Keeps a device's oldest row, before its next one takes that place, for the next
  /// pass, in which the device will be the one at `place`.
  void KeepLeaving(std::size_t place, StreamDevice* device);
  /// Outputs for the newest row of each of at most kMostRows devices, [devices][outputs]; zeros
  /// without weights. Their states go on.
  std::span<const float> Forward(Devices due);

 private:
  void StepTails(Devices due);
  void StepHeads(Devices due);
  void StepWindows(Devices due);
  void ForwardWindows(Devices due);

  const ForecastSettings& settings_;
  const DeviceShape& shape_;
  const ParameterLayout layout_;
  Policy policy_;
  std::uint64_t version_ = 0;
  AlignedFloats inputs_, states_, outputs_, scratch_;
  AlignedFloats leaving_;  ///< [kMostRows][inputs] rows that left the windows of due devices
};

}  // namespace murmurate
