#include "server/device/device_tower.h"

#include "server/device/device_sums.h"

namespace murmurate {

DeviceTower::DeviceTower(const NetworkPlan& plan, std::span<const DeviceInput> inputs,
                         DeviceRoom* room)
    : room_(room), joined_count_(plan.joined) {
  bool learns = false;
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const PlannedInput& input = plan.inputs[i];
    encoders_.push_back({std::make_unique<DeviceChain>(input.layers, inputs[i], false, 0, room),
                         input.features, input.first_feature});
    learns = learns || encoders_.back().layers->has_gradient();
  }
  DeviceBlock in = encoders_[0].layers->out();
  if (encoders_.size() > 1) {
    joined_ = room->Rows(joined_count_);
    in = joined_;
    if (learns) d_joined_ = room->Rows(joined_count_);
  }
  room->WantGradients(plan.features, ElementType::kFloat32);
  trunk_ =
      std::make_unique<DeviceChain>(plan.trunk, DeviceInput{in}, learns, plan.state_floats, room);
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

void DeviceTower::Backward(const DevicePass& pass, float* d_features) {
  void* const d_in = trunk_->Backward(pass, d_features);
  if (d_in == nullptr) return;
  if (encoders_.size() == 1) {
    encoders_[0].layers->Backward(pass, d_in);
    return;
  }
  pass.device->CopyWithin(pass.stream, d_joined_.data(), d_in,
                          pass.Numbers(joined_count_) * sizeof(float));
  for (const Encoder& encoder : encoders_) {
    if (!encoder.layers->has_gradient()) continue;
    float* const dy = static_cast<float*>(room_->even());
    pass.device->Launch(pass.stream, GridOver(pass.Numbers(encoder.features)),
                        CopyColumnsCall{.from = d_joined_.data() + encoder.first_feature,
                                        .to = dy,
                                        .from_stride = static_cast<std::size_t>(joined_count_),
                                        .to_stride = static_cast<std::size_t>(encoder.features),
                                        .rows = pass.Numbers(1),
                                        .columns = encoder.features});
    encoder.layers->Backward(pass, dy);
  }
}

}  // namespace murmurate
