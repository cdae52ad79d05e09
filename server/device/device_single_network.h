// DeviceSingleNetwork: one named network of a model on a device: forward and backward over the model's
// flat block, as server/network/single_network.h does it on this processor. DeviceNetwork runs a policy
// and its value together; this is for algorithms whose networks are run one by one. Everything is
// enqueued on the main stream with fixed pointers and sizes, so that it can be part of a recorded
// graph.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_body.h"
#include "server/device/device_layer.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class DeviceSingleNetwork {
 public:
  /// Plans memory for up to `max_rows` rows. `layout` must stay. Networks whose layers recur or that
  /// share another's layers have no place here. inputs[i]: input i of its plan, ready as
  /// DeviceNetwork's. `actions`: [max_rows][action features] of a network that reads the action.
  DeviceSingleNetwork(const ModelSpec& spec, const ParameterLayout& layout,
                      std::string_view network, int max_rows, std::span<const DeviceInput> inputs,
                      DevicePrecision precision, DeviceMemory* memory,
                      const DeviceArray<float>& actions = {});
  DeviceSingleNetwork(const DeviceSingleNetwork&) = delete;
  DeviceSingleNetwork& operator=(const DeviceSingleNetwork&) = delete;

  /// The first `rows` rows -> outputs(); keeps what Backward needs. `parameters`: the whole block.
  void Forward(Device* device, const float* parameters, int rows);
  /// The gradient of a loss by the network's parameters, given d_outputs() of the first `rows` rows
  /// of the last Forward. Overwrites each of its tensors in `gradient`, of all trained parameters;
  /// null: not wanted. Writes that by the actions to d_actions [rows][action features], unless it is
  /// null. Once after each Forward.
  void Backward(Device* device, const float* parameters, int rows, float* gradient,
                float* d_actions = nullptr);

  int output_width() const { return output_width_; }
  const DeviceArray<float>& outputs() const { return body_->outputs(); }  ///< [rows][output_width]
  const DeviceArray<float>& d_outputs() const { return d_outputs_; }      ///< the caller writes it

 private:
  DeviceSingleNetwork(const NetworkPlan& plan, const ParameterLayout& layout, int max_rows,
                      std::span<const DeviceInput> inputs, DevicePrecision precision,
                      DeviceMemory* memory, const DeviceArray<float>& actions);

  const int output_width_, action_features_;
  DeviceRoom room_;
  const DeviceArray<float> d_outputs_;
  std::unique_ptr<DeviceBody> body_;
};

/// The plan of a network of independent rows that the model has.
NetworkPlan PlanOfSingleNetwork(const ModelSpec& spec, std::string_view network);

}  // namespace murmurate
