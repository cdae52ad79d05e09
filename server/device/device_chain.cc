#include "server/device/device_chain.h"

namespace murmurate {

DeviceChain::DeviceChain(std::span<const PlannedLayer> layers, const DeviceInput& in,
                         bool wants_input, int state_floats, DeviceRoom* room)
    : in_(in.numbers), wants_input_(wants_input), room_(room) {
  DeviceLayer* open = nullptr;
  for (const PlannedLayer& planned : layers) {
    auto layer =
        MakeDeviceLayer({planned, out(), room, open, state_floats, layers_.empty() ? in.block : 1});
    if (layer == nullptr) continue;
    if (planned.layer.form().block == LayerForm::Block::kOpens) open = layer.get();
    if (planned.parameters() > 0 && !learns_) {
      learns_ = true;
      first_learner_ = layers_.size();
    }
    layers_.push_back(std::move(layer));
  }
  if (wants_input_) first_learner_ = 0;
}

void DeviceChain::Forward(const DevicePass& pass) {
  for (const auto& layer : layers_) layer->Forward(pass);
}

void* DeviceChain::Backward(const DevicePass& pass, void* dy) {
  if (!has_gradient()) return nullptr;
  for (std::size_t i = layers_.size(); i-- > first_learner_;) {
    void* const other = dy == room_->even() ? room_->odd() : room_->even();
    dy = layers_[i]->Backward(pass, dy, i > first_learner_ || wants_input_ ? other : nullptr);
  }
  return wants_input_ ? dy : nullptr;
}

}  // namespace murmurate
