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
  WithElements(call.type, [&](auto element) {
    using T = decltype(element);
    T* const y = static_cast<T*>(call.y);
    EachOfMatrix(call.rows, call.columns, [&](std::size_t i, std::size_t, int column) {
      const float bias = call.bias == nullptr ? 0.0f : call.bias[column];
      y[i] = Narrowed<T>(Activated(call.activation, Widened(y[i]) + bias));
    });
  });
}

MURMURATE_KERNEL(Activate) {
  WithElements(call.type, [&](auto element) {
    using T = decltype(element);
    const T* const x = static_cast<const T*>(call.x);
    T* const y = static_cast<T*>(call.y);
    for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads())
      y[i] = Narrowed<T>(Activated(call.activation, Widened(x[i])));
  });
}

MURMURATE_KERNEL(ActivationGradient) {
  WithElements(call.type, [&](auto element) {
    using T = decltype(element);
    T* const dy = static_cast<T*>(call.dy);
    const T* const y = static_cast<const T*>(call.y);
    for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads())
      dy[i] = Narrowed<T>(Widened(dy[i]) * ActivationSlope(call.activation, Widened(y[i])));
  });
}

MURMURATE_KERNEL(AddNumbers) {
  WithElements(call.type, [&](auto element) {
    using T = decltype(element);
    const T* const a = static_cast<const T*>(call.a);
    const T* const b = static_cast<const T*>(call.b);
    T* const sum = static_cast<T*>(call.sum);
    for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads())
      sum[i] = Narrowed<T>(Widened(a[i]) + Widened(b[i]));
  });
}

MURMURATE_KERNEL(ConvertNumbers) {
  for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads())
    WriteNumber(call.to, call.to_type, i, ReadNumber(call.from, call.from_type, i));
}

MURMURATE_KERNEL(CopyColumns) {
  EachOfMatrix(call.rows, call.columns, [&](std::size_t, std::size_t row, int column) {
    call.to[row * call.to_stride + column] = call.from[row * call.from_stride + column];
  });
}

}  // namespace murmurate
