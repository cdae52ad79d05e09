#include "server/device/device_tower.h"

#include "server/device/device_sums.h"

namespace murmurate {

DeviceTower::DeviceTower(const NetworkPlan& plan, std::span<const DeviceInput> inputs,
                         DeviceRoom* room, const DeviceArray<float>& actions)
    : room_(room), joined_count_(plan.joined), action_features_(plan.action_features) {
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlannedInput& input = plan.inputs[i];
    encoders_.push_back({std::make_unique<DeviceChain>(input.layers, inputs[i], false, 0, room),
                         input.features, input.first_feature});
    encoders_learn_ = encoders_learn_ || encoders_.back().layers->has_gradient();
  }
  if (action_features_ > 0)
    encoders_.push_back({std::make_unique<DeviceChain>(std::span<const PlannedLayer>(),
                                                       DeviceInput{actions}, false, 0, room),
                         action_features_, joined_count_ - action_features_});
  DeviceBlock in = encoders_[0].layers->out();
  if (encoders_.size() > 1) {
    joined_ = room->Rows(joined_count_);
    in = joined_;
    if (encoders_learn_) d_joined_ = room->Rows(joined_count_);
  }
  room->WantGradients(plan.features, ElementType::kFloat32);
  trunk_ = std::make_unique<DeviceChain>(plan.trunk, DeviceInput{in},
                                         encoders_learn_ || action_features_ > 0, plan.state_floats,
                                         room);
}

void DeviceTower::Join(const DevicePass& pass) const {
  for (const Encoder& encoder : encoders_)
    pass.device->Launch(pass.stream, GridOver(pass.Numbers(encoder.features)),
                        CopyColumnsCall{.from = encoder.layers->out().floats().data(),
                                        .to = joined_.data() + encoder.first_feature,
                                        .from_stride = static_cast<std::size_t>(encoder.features),
                                        .to_stride = static_cast<std::size_t>(joined_count_),
                                        .rows = pass.Numbers(1),
                                        .columns = encoder.features});
}

void DeviceTower::Forward(const DevicePass& pass) {
  for (const Encoder& encoder : encoders_) encoder.layers->Forward(pass);
  if (encoders_.size() > 1) Join(pass);
  trunk_->Forward(pass);
}

void DeviceTower::CopyPart(const DevicePass& pass, const float* d_joined, int first, int columns,
                           float* to) const {
  pass.device->Launch(pass.stream, GridOver(pass.Numbers(columns)),
                      CopyColumnsCall{.from = d_joined + first,
                                      .to = to,
                                      .from_stride = static_cast<std::size_t>(joined_count_),
                                      .to_stride = static_cast<std::size_t>(columns),
                                      .rows = pass.Numbers(1),
                                      .columns = columns});
}

void DeviceTower::Backward(const DevicePass& pass, float* d_features) {
  void* const d_in = trunk_->Backward(pass, d_features);
  if (d_in == nullptr) return;
  if (pass.d_actions != nullptr)
    CopyPart(pass, static_cast<const float*>(d_in), joined_count_ - action_features_,
             action_features_, pass.d_actions);
  if (!encoders_learn_ || pass.gradient == nullptr) return;
  if (encoders_.size() == 1) {
    encoders_[0].layers->Backward(pass, d_in);
    return;
  }
  pass.device->CopyWithin(pass.stream, d_joined_.data(), d_in,
                          pass.Numbers(joined_count_) * sizeof(float));
  for (const Encoder& encoder : encoders_) {
    if (!encoder.layers->has_gradient()) continue;
    float* const dy = static_cast<float*>(room_->even());
    CopyPart(pass, d_joined_.data(), encoder.first_feature, encoder.features, dy);
    encoder.layers->Backward(pass, dy);
  }
}

}  // namespace murmurate
