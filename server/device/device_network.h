// DeviceNetwork: a ModelSpec of a policy and its value on a device: forward and backward over one
// flat block of parameters, as ActorCritic does it on this processor. Everything is enqueued on a
// stream with fixed pointers and sizes, so that it can be part of a recorded graph.
//
//   device_network.h       what callers see
//   device_body.h          the two ways in which it is computed:
//   device_small_body.h      a few small dense layers as a whole; small_network_cost.h when
//   device_layered_body.h    layer by layer
//   device_tower.h         encoders, joined vector, trunk
//   device_chain.h         layers one after the other
//   device_layer.h         one layer of each kind
#pragma once

#include <memory>
#include <span>

#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_body.h"
#include "server/device/device_layer.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class DeviceNetwork {
 public:
  /// Plans memory for up to `max_rows` rows. inputs[i]: input i of the plan of the network that reads
  /// the most inputs (the value, where it reads privileged ones), ready as the first layers take
  /// them: normalized, bytes / 255, one-hot, frames stacked. Its block is BlockOfPicture or 1.
  /// `precision`: of the device that is to compute it.
  DeviceNetwork(const ModelSpec& spec, int max_rows, std::span<const DeviceInput> inputs,
                DeviceMemory* memory, DeviceNetworkForm form = DeviceNetworkForm::kBySize,
                DevicePrecision precision = DevicePrecision::kFp32);
  DeviceNetwork(const DeviceNetwork&) = delete;
  DeviceNetwork& operator=(const DeviceNetwork&) = delete;

  /// inputs -> outputs() and values() of the first rows.rows rows, which are at most max_rows;
  /// keeps what Backward needs. `parameters`: the whole block, on a border of 16 bytes. With
  /// `values_alone` outputs() are not computed, and no Backward follows. A recurrent model needs
  /// steps and lanes, others ignore them.
  void Forward(Device* device, Stream stream, const float* parameters, const DeviceRows& rows,
               bool values_alone = false);
  /// The gradient of a scalar loss by all parameters, given its gradients d_outputs() and
  /// d_values() by the last Forward's outputs and values; through all steps, none into state0.
  /// `rows` are that Forward's. Overwrites every tensor of gradient[0, layout().trained_count()) but
  /// policy.log_deviation, which no output depends on; that and the padding between tensors stay as
  /// they are. Once after each Forward; uses up what that one kept.
  void Backward(Device* device, Stream stream, const float* parameters, const DeviceRows& rows,
                float* gradient);

  const DeviceArray<float>& outputs() const { return body_->outputs(); }  ///< [rows][output_width]
  const DeviceArray<float>& values() const { return body_->values(); }    ///< [rows]
  const DeviceArray<float>& d_outputs() const { return d_outputs_; }      ///< the caller writes it
  const DeviceArray<float>& d_values() const { return d_values_; }        ///< the caller writes it

  const ParameterLayout& layout() const { return layout_; }
  int output_width() const { return output_width_; }  ///< ActionLayout::outputs()
  int state_floats() const { return state_floats_; }  ///< of a lane; 0: no layer recurs

 private:
  DeviceNetwork(const ModelSpec& spec, const NetworkPlan& policy, const NetworkPlan& value,
                int max_rows, std::span<const DeviceInput> inputs, DeviceMemory* memory,
                DeviceNetworkForm form, DevicePrecision precision);
  void CheckRows(const DeviceRows& rows) const;

  const ParameterLayout layout_;
  const int output_width_, state_floats_, max_rows_;
  DeviceRoom room_;
  const DeviceArray<float> d_outputs_, d_values_;
  std::unique_ptr<DeviceBody> body_;
};

}  // namespace murmurate
