#pragma once

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/walk.h"

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

/// What an activation multiplies a gradient with, by its output.
MURMURATE_DEVICE float ActivationSlope(DeviceActivation activation, float y) {
  switch (activation) {
    case DeviceActivation::kTanh:
      return 1.0f - y * y;
    case DeviceActivation::kRelu:
      return y > 0.0f ? 1.0f : 0.0f;
    case DeviceActivation::kElu:
      return y > 0.0f ? 1.0f : y + 1.0f;
    case DeviceActivation::kSigmoid:
      return y * (1.0f - y);
    default:
      return 1.0f;
  }
}

MURMURATE_KERNEL(BiasActivation) {
  EachOfMatrix(call.rows, call.columns, [&](std::size_t i, std::size_t, int column) {
    const float bias = call.bias == nullptr ? 0.0f : call.bias[column];
    call.y[i] = Activated(call.activation, call.y[i] + bias);
  });
}

MURMURATE_KERNEL(Activate) {
  for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads())
    call.y[i] = Activated(call.activation, call.x[i]);
}

MURMURATE_KERNEL(ActivationGradient) {
  for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads())
    call.dy[i] *= ActivationSlope(call.activation, call.y[i]);
}

MURMURATE_KERNEL(AddNumbers) {
  for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads())
    call.sum[i] = call.a[i] + call.b[i];
}

MURMURATE_KERNEL(CopyColumns) {
  EachOfMatrix(call.rows, call.columns, [&](std::size_t, std::size_t row, int column) {
    call.to[row * call.to_stride + column] = call.from[row * call.from_stride + column];
  });
}

}  // namespace murmurate
