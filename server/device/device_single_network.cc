#include "server/device/device_single_network.h"

#include "shared/core/check.h"

namespace murmurate {

NetworkPlan PlanOfSingleNetwork(const ModelSpec& spec, std::string_view network) {
  MURMURATE_CHECK(spec.Find(network) != nullptr, "a network of the model");
  Result<NetworkPlan> plan = PlanNetwork(spec, network);
  MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
  MURMURATE_CHECK(plan->state_floats == 0, "a network of independent rows");
  return *std::move(plan);
}

DeviceSingleNetwork::DeviceSingleNetwork(const ModelSpec& spec, const ParameterLayout& layout,
                                         std::string_view network, int max_rows,
                                         std::span<const DeviceInput> inputs,
                                         DevicePrecision precision, DeviceMemory* memory,
                                         const DeviceArray<float>& actions)
    : DeviceSingleNetwork(PlanOfSingleNetwork(spec, network), layout, max_rows, inputs, precision,
                          memory, actions) {}

DeviceSingleNetwork::DeviceSingleNetwork(const NetworkPlan& plan, const ParameterLayout& layout,
                                         int max_rows, std::span<const DeviceInput> inputs,
                                         DevicePrecision precision, DeviceMemory* memory,
                                         const DeviceArray<float>& actions)
    : output_width_(plan.outputs),
      action_features_(plan.action_features),
      room_(layout, max_rows, memory),
      d_outputs_(room_.Rows(static_cast<std::size_t>(output_width_))) {
  MURMURATE_CHECK((actions.size() > 0) == (action_features_ > 0), "actions where they are read");
  body_ = MakeDeviceBody({.policy = plan,
                          .value = nullptr,
                          .separate = false,
                          .inputs = inputs,
                          .d_outputs = d_outputs_,
                          .d_values = {},
                          .room = &room_,
                          .precision = precision,
                          .actions = actions},
                         DeviceNetworkForm::kBySize);
}

void DeviceSingleNetwork::Forward(Device* device, const float* parameters, int rows) {
  MURMURATE_CHECK(rows > 0 && rows <= room_.max_rows(), "rows that there is room for");
  body_->Forward({.device = device, .parameters = parameters, .rows = {.rows = rows}}, false);
}

void DeviceSingleNetwork::Backward(Device* device, const float* parameters, int rows,
                                   float* gradient, float* d_actions) {
  MURMURATE_CHECK(d_actions == nullptr || action_features_ > 0, "actions that are read");
  body_->Backward({.device = device,
                   .parameters = parameters,
                   .gradient = gradient,
                   .rows = {.rows = rows},
                   .d_actions = d_actions});
}

}  // namespace murmurate
