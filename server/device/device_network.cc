#include "server/device/device_network.h"

#include <algorithm>
#include <string_view>

#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

NetworkPlan PlanOf(const ModelSpec& spec, std::string_view network) {
  MURMURATE_CHECK(spec.Find(network) != nullptr, "a model of a policy and its value");
  Result<NetworkPlan> plan = PlanNetwork(spec, network);
  MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
  return *std::move(plan);
}

}  // namespace

DeviceNetwork::DeviceNetwork(const ModelSpec& spec, int max_rows,
                             std::span<const DeviceInput> inputs, DeviceMemory* memory,
                             DeviceNetworkForm form, DevicePrecision precision)
    : DeviceNetwork(spec, PlanOf(spec, kPolicyNetwork), PlanOf(spec, kValueNetwork), max_rows,
                    inputs, memory, form, precision) {}

DeviceNetwork::DeviceNetwork(const ModelSpec& spec, const NetworkPlan& policy,
                             const NetworkPlan& value, int max_rows,
                             std::span<const DeviceInput> inputs, DeviceMemory* memory,
                             DeviceNetworkForm form, DevicePrecision precision)
    : layout_(spec),
      output_width_(policy.outputs),
      state_floats_(policy.state_floats),
      max_rows_(max_rows),
      room_(layout_, max_rows, memory),
      d_outputs_(room_.Rows(output_width_)),
      d_values_(room_.Rows(1)) {
  MURMURATE_CHECK(inputs.size() == std::max(policy.inputs.size(), value.inputs.size()),
                  "all inputs of the network that reads the most");
  const bool separate = spec.Find(kValueNetwork)->shares.empty();
  body_ = MakeDeviceBody(
      {policy, &value, separate, inputs, d_outputs_, d_values_, &room_, precision}, form);
}

void DeviceNetwork::CheckRows(const DeviceRows& rows) const {
  MURMURATE_CHECK(rows.rows > 0 && rows.rows <= max_rows_, "rows that there is room for");
  MURMURATE_CHECK(state_floats_ == 0 || rows.steps * rows.lanes == rows.rows,
                  "a recurrent model needs to know which rows follow each other");
}

void DeviceNetwork::Forward(Device* device, Stream stream, const float* parameters,
                            const DeviceRows& rows, bool values_alone) {
  CheckRows(rows);
  body_->Forward({.device = device, .stream = stream, .parameters = parameters, .rows = rows},
                 values_alone);
}

void DeviceNetwork::Backward(Device* device, Stream stream, const float* parameters,
                             const DeviceRows& rows, float* gradient) {
  CheckRows(rows);
  body_->Backward({device, stream, parameters, gradient, rows});
}

}  // namespace murmurate
