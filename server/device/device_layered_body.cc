#include "server/device/device_layered_body.h"

namespace murmurate {
namespace {

std::unique_ptr<DeviceDense> MakeHead(const NetworkPlan& plan, const DeviceTower& tower,
                                      DeviceRoom* room) {
  return std::make_unique<DeviceDense>(
      DeviceLayerRequest{plan.head, tower.features(), room, nullptr, 0});
}

}  // namespace

DeviceLayeredBody::DeviceLayeredBody(const DeviceBodyRequest& request)
    : room_(request.room),
      policy_(request.policy, request.inputs, room_, request.actions),
      d_outputs_(request.d_outputs),
      d_values_(request.d_values) {
  if (request.has_tower_of_value())
    value_ = std::make_unique<DeviceTower>(*request.value, request.inputs, room_);
  policy_head_ = MakeHead(request.policy, policy_, room_);
  outputs_ = policy_head_->out().floats();
  if (request.value != nullptr) {
    value_head_ = MakeHead(*request.value, request.separate ? *value_ : policy_, room_);
    values_ = value_head_->out().floats();
  }
  room_->Plan();
}

void DeviceLayeredBody::Forward(const DevicePass& pass, bool values_alone) {
  if (!values_alone || value_ == nullptr) policy_.Forward(pass);
  if (!values_alone) policy_head_->Forward(pass);
  if (value_ != nullptr) value_->Forward(pass);
  if (value_head_ != nullptr) value_head_->Forward(pass);
}

void DeviceLayeredBody::Backward(const DevicePass& pass) {
  policy_head_->ParameterGradient(pass, d_outputs_.data());
  if (value_head_ != nullptr) value_head_->ParameterGradient(pass, d_values_.data());
  value_ == nullptr ? BackwardShared(pass) : BackwardSeparate(pass);
}

void DeviceLayeredBody::BackwardShared(const DevicePass& pass) {
  if (!policy_.has_gradient()) return;
  float* const d_features = static_cast<float*>(room_->even());
  policy_head_->InputGradient(pass, d_outputs_.data(), d_features, false);
  if (value_head_ != nullptr) value_head_->InputGradient(pass, d_values_.data(), d_features, true);
  policy_.Backward(pass, d_features);
}

void DeviceLayeredBody::BackwardSeparate(const DevicePass& pass) {
  float* const d_features = static_cast<float*>(room_->even());
  if (policy_.has_gradient()) {
    policy_head_->InputGradient(pass, d_outputs_.data(), d_features, false);
    policy_.Backward(pass, d_features);
  }
  if (!value_->has_gradient()) return;
  value_head_->InputGradient(pass, d_values_.data(), d_features, false);
  value_->Backward(pass, d_features);
}

}  // namespace murmurate
