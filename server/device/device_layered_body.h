// DeviceLayeredBody: policy and value, or one network, layer by layer, of any kind and size; inside server/device
// only.
#pragma once

#include <memory>

#include "server/device/device_body.h"
#include "server/device/device_dense.h"
#include "server/device/device_tower.h"

namespace murmurate {

class DeviceLayeredBody : public DeviceBody {
 public:
  explicit DeviceLayeredBody(const DeviceBodyRequest& request);

  void Forward(const DevicePass& pass, bool values_alone) override;
  void Backward(const DevicePass& pass) override;

 private:
  void BackwardShared(const DevicePass& pass);
  void BackwardSeparate(const DevicePass& pass);

  DeviceRoom* const room_;
  DeviceTower policy_;
  std::unique_ptr<DeviceTower> value_;  ///< null: it shares the policy's, or there is no value
  std::unique_ptr<DeviceDense> policy_head_, value_head_;  ///< the value's is null without one
  const DeviceArray<float> d_outputs_, d_values_;
};

}  // namespace murmurate
