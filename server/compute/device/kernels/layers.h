#pragma once

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/kernel_language.h"

namespace murmurate {

MURMURATE_DEVICE float Activated(DeviceActivation activation, float x) {
  switch (activation) {
    case DeviceActivation::kTanh:
      return tanhf(x);
    case DeviceActivation::kRelu:
      return x > 0.0f ? x : 0.0f;
    case DeviceActivation::kElu:
      return x > 0.0f ? x : expm1f(x);
    case DeviceActivation::kSigmoid:
      return 1.0f / (1.0f + expf(-x));
    default:
      return x;
  }
}

MURMURATE_KERNEL(BiasActivation) {
  const std::size_t count = call.rows * static_cast<std::size_t>(call.columns);
  for (std::size_t i = GlobalThread(); i < count; i += AllThreads()) {
    const float bias = call.bias == nullptr ? 0.0f : call.bias[i % call.columns];
    call.y[i] = Activated(call.activation, call.y[i] + bias);
  }
}

}  // namespace murmurate
