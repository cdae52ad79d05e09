// DeviceDense: y = activation(x W + b) on a device; layers of trunks and encoders, and both heads.
#pragma once

#include "server/device/device_layer.h"

namespace murmurate {

class DeviceDense : public DeviceLayer {
 public:
  explicit DeviceDense(const DeviceLayerRequest& request);

  void Forward(const DevicePass& pass) override;
  void* Backward(const DevicePass& pass, void* dy, void* dx) override;

  /// Backward in two parts. ParameterGradient: dy becomes the gradient of the sums, before the
  /// activation, and gives the gradient of weight and bias, where pass has one. InputGradient: dx from that dy; with
  /// `accumulate` added to what is there.
  void ParameterGradient(const DevicePass& pass, float* dy);
  void InputGradient(const DevicePass& pass, const float* dy, float* dx, bool accumulate) const;

 private:
  void BeforeActivation(const DevicePass& pass, float* dy) const;
  int inputs() const { return planned_.in.channels; }
  int units() const { return planned_.layer.units; }

  const std::size_t weight_, bias_;  ///< floats from the start of the parameters
};

}  // namespace murmurate
