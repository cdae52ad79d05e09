// DeviceChain: layers that run one after the other on a device; inside server/device only.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "server/device/device_input.h"
#include "server/device/device_layer.h"

namespace murmurate {

class DeviceChain {
 public:
  /// `wants_input`: something below it learns, so Backward gives the
  /// gradient of the chain's inputs. `state_floats`: what an agent carries.
  DeviceChain(std::span<const PlannedLayer> layers, const DeviceInput& in, bool wants_input,
              int state_floats, DeviceRoom* room);

  const DeviceBlock& out() const { return layers_.empty() ? in_ : layers_.back()->out(); }
  /// Something in it has parameters, or what comes to it wants a gradient.
  bool has_gradient() const { return learns_ || wants_input_; }

  void Forward(const DevicePass& pass);
  /// dy: gradient of out(), in one of the room's two blocks of gradients; is used up. Gives the
  /// gradient of the inputs, in one of these blocks, or null when it is not wanted.
  void* Backward(const DevicePass& pass, void* dy);

 private:
  std::vector<std::unique_ptr<DeviceLayer>> layers_;
  const DeviceBlock in_;
  const bool wants_input_;
  DeviceRoom* const room_;
  bool learns_ = false;
  std::size_t first_learner_ = 0;  ///< nothing below it has parameters
};

}  // namespace murmurate
