// DeviceTower: one network of a plan on a device, from the inputs to its features; inside
// server/device only.
//
//   input 0 -> [encoder] -+
//   input 1 -> [encoder] -+- joined -> [trunk] -> features
//   action ---------------+
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "server/device/device_chain.h"

namespace murmurate {

class DeviceTower {
 public:
  /// inputs[i]: the plan's input i; `actions` of a plan that reads them.
  DeviceTower(const NetworkPlan& plan, std::span<const DeviceInput> inputs, DeviceRoom* room,
              const DeviceArray<float>& actions = {});

  const DeviceBlock& features() const { return trunk_->out(); }
  /// Something below the heads learns.
  bool has_gradient() const { return trunk_->has_gradient(); }

  void Forward(const DevicePass& pass);
  /// d_features: in one of the room's two blocks of gradients; is used up.
  void Backward(const DevicePass& pass, float* d_features);

 private:
  struct Encoder {
    std::unique_ptr<DeviceChain> layers;
    int features = 0, first_feature = 0;
  };

  void Join(const DevicePass& pass) const;
  /// Columns of the gradient of the joined vector.
  void CopyPart(const DevicePass& pass, const float* d_joined, int first, int columns,
                float* to) const;

  DeviceRoom* const room_;
  const int joined_count_, action_features_;
  bool encoders_learn_ = false;
  std::vector<Encoder> encoders_;
  DeviceArray<float> joined_, d_joined_;  ///< [max_rows][joined], of several inputs
  std::unique_ptr<DeviceChain> trunk_;
};

}  // namespace murmurate
