// DeviceBody: how a DeviceNetwork is computed: layer by layer (DeviceLayeredBody), or a small one
// as a whole (DeviceSmallBody); inside server/device only.
#pragma once

#include <span>

#include "server/device/device_input.h"
#include "server/device/device_layer.h"

namespace murmurate {

/// What a body is made of; inputs as DeviceNetwork's.
struct DeviceBodyRequest {
  const NetworkPlan& policy;
  const NetworkPlan& value;
  bool separate;  ///< the value has layers of its own
  std::span<const DeviceInput> inputs;
  DeviceArray<float> d_outputs, d_values;
  DeviceRoom* room;
  DevicePrecision precision;  ///< of the device that is to compute it
};

class DeviceBody {
 public:
  virtual ~DeviceBody() = default;

  virtual void Forward(const DevicePass& pass, bool values_alone) = 0;
  /// From d_outputs and d_values of the request; every tensor's gradient.
  virtual void Backward(const DevicePass& pass) = 0;

  const DeviceArray<float>& outputs() const { return outputs_; }
  const DeviceArray<float>& values() const { return values_; }

 protected:
  DeviceArray<float> outputs_, values_;
};

}  // namespace murmurate
