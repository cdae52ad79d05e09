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

std::unique_ptr<DeviceDense> MakeHead(const NetworkPlan& plan, const DeviceTower& tower,
                                      DeviceRoom* room) {
  return std::make_unique<DeviceDense>(
      DeviceLayerRequest{plan.head, tower.features(), room, nullptr, 0});
}

}  // namespace

DeviceNetwork::DeviceNetwork(const ModelSpec& spec, int max_rows,
                             std::span<const DeviceArray<float>> inputs, DeviceMemory* memory)
    : DeviceNetwork(spec, PlanOf(spec, kPolicyNetwork), PlanOf(spec, kValueNetwork), max_rows,
                    inputs, memory) {}

DeviceNetwork::DeviceNetwork(const ModelSpec& spec, const NetworkPlan& policy,
                             const NetworkPlan& value, int max_rows,
                             std::span<const DeviceArray<float>> inputs, DeviceMemory* memory)
    : layout_(spec),
      output_width_(policy.outputs),
      state_floats_(policy.state_floats),
      max_rows_(max_rows),
      room_(layout_, max_rows, memory),
      policy_(policy, inputs, &room_) {
  MURMURATE_CHECK(inputs.size() == std::max(policy.inputs.size(), value.inputs.size()),
                  "all inputs of the network that reads the most");
  if (spec.Find(kValueNetwork)->shares.empty())
    value_ = std::make_unique<DeviceTower>(value, inputs, &room_);
  policy_head_ = MakeHead(policy, policy_, &room_);
  value_head_ = MakeHead(value, value_ != nullptr ? *value_ : policy_, &room_);
  d_outputs_ = room_.Rows(output_width_);
  d_values_ = room_.Rows(1);
  room_.Plan();
}

void DeviceNetwork::CheckRows(const DeviceRows& rows) const {
  MURMURATE_CHECK(rows.rows > 0 && rows.rows <= max_rows_, "rows that there is room for");
  MURMURATE_CHECK(state_floats_ == 0 || rows.steps * rows.lanes == rows.rows,
                  "a recurrent model needs to know which rows follow each other");
}

void DeviceNetwork::Forward(Device* device, Stream stream, const float* parameters,
                            const DeviceRows& rows, bool values_alone) {
  CheckRows(rows);
  const DevicePass pass{device, stream, parameters, nullptr, rows};
  if (!values_alone || value_ == nullptr) policy_.Forward(pass);
  if (!values_alone) policy_head_->Forward(pass);
  if (value_ != nullptr) value_->Forward(pass);
  value_head_->Forward(pass);
}

void DeviceNetwork::Backward(Device* device, Stream stream, const float* parameters,
                             const DeviceRows& rows, float* gradient) {
  CheckRows(rows);
  const DevicePass pass{device, stream, parameters, gradient, rows};
  device->ClearMemory(stream, gradient, layout_.trained_count() * sizeof(float));
  policy_head_->ParameterGradient(pass, d_outputs_.data());
  value_head_->ParameterGradient(pass, d_values_.data());
  value_ == nullptr ? BackwardShared(pass) : BackwardSeparate(pass);
}

void DeviceNetwork::BackwardShared(const DevicePass& pass) {
  if (!policy_.has_gradient()) return;
  float* const d_features = room_.even();
  policy_head_->InputGradient(pass, d_outputs_.data(), d_features, false);
  value_head_->InputGradient(pass, d_values_.data(), d_features, true);
  policy_.Backward(pass, d_features);
}

void DeviceNetwork::BackwardSeparate(const DevicePass& pass) {
  float* const d_features = room_.even();
  if (policy_.has_gradient()) {
    policy_head_->InputGradient(pass, d_outputs_.data(), d_features, false);
    policy_.Backward(pass, d_features);
  }
  if (!value_->has_gradient()) return;
  value_head_->InputGradient(pass, d_values_.data(), d_features, false);
  value_->Backward(pass, d_features);
}

}  // namespace murmurate
