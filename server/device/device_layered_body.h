// DeviceLayeredBody: policy and value layer by layer, of any kind and size; inside server/device
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
  std::unique_ptr<DeviceTower> value_;  ///< none when it shares the policy's
  std::unique_ptr<DeviceDense> policy_head_, value_head_;
  const DeviceArray<float> d_outputs_, d_values_;
};

}  // namespace murmurate
