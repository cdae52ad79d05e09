// DeviceBody: how a DeviceNetwork or a DeviceSingleNetwork is computed: layer by layer
// (DeviceLayeredBody), or a small one as a whole (DeviceSmallBody); inside server/device only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "server/device/device_input.h"
#include "server/device/device_layer.h"

namespace murmurate {

/// How a network is computed.
enum class DeviceNetworkForm : std::uint8_t {
  kBySize,  ///< dense networks as a whole, in 32 bits, where that costs less (small_network_cost.h)
  kLayered,  ///< layer by layer
};

/// What a body is made of; inputs as DeviceNetwork's. Without a value there is one network, the
/// `policy`, whatever its name.
struct DeviceBodyRequest {
  const NetworkPlan& policy;
  const NetworkPlan* value;  ///< null: there is none
  bool separate;             ///< the value has layers of its own
  std::span<const DeviceInput> inputs;
  DeviceArray<float> d_outputs, d_values;
  DeviceRoom* room;
  DevicePrecision precision;  ///< of the device that is to compute it
  /// [rows][action features], of a network that reads the action.
  DeviceArray<float> actions = {};

  bool has_tower_of_value() const { return value != nullptr && separate; }
};

class DeviceBody {
 public:
  virtual ~DeviceBody() = default;

  virtual void Forward(const DevicePass& pass, bool values_alone) = 0;
  /// From d_outputs and d_values of the request; every tensor's gradient, unless pass.gradient is
  /// null, and that by the actions that are read, unless pass.d_actions is.
  virtual void Backward(const DevicePass& pass) = 0;

  const DeviceArray<float>& outputs() const { return outputs_; }
  const DeviceArray<float>& values() const { return values_; }

 protected:
  DeviceArray<float> outputs_, values_;
};

std::unique_ptr<DeviceBody> MakeDeviceBody(const DeviceBodyRequest& request,
                                           DeviceNetworkForm form);

}  // namespace murmurate
