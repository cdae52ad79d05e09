// The calls of a network's layers that take each number by itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// shared/model/layer.h's Activation, in its order.
enum class DeviceActivation : std::uint8_t { kNone, kTanh, kRelu, kElu, kSigmoid };

/// y <- activation(y + bias) over [rows][columns]; any number of threads.
struct BiasActivationCall {
  static constexpr KernelId kKernel = KernelId::kBiasActivation;
  float* y;
  const float* bias;  ///< [columns]; null: none
  std::size_t rows;
  int columns;
  DeviceActivation activation;
};

/// y <- activation(x); any number of threads.
struct ActivateCall {
  static constexpr KernelId kKernel = KernelId::kActivate;
  const float* x;
  float* y;
  std::size_t count;
  DeviceActivation activation;
};

/// dy <- dy times the activation's slope, which follows from its output y; any number of threads.
struct ActivationGradientCall {
  static constexpr KernelId kKernel = KernelId::kActivationGradient;
  float* dy;
  const float* y;
  std::size_t count;
  DeviceActivation activation;
};

/// sum <- a + b, which may be one of them; any number of threads.
struct AddNumbersCall {
  static constexpr KernelId kKernel = KernelId::kAddNumbers;
  const float* a;
  const float* b;
  float* sum;
  std::size_t count;
};

/// to[row][column] <- from[row][column] for some columns of wider rows; any number of threads.
struct CopyColumnsCall {
  static constexpr KernelId kKernel = KernelId::kCopyColumns;
  const float* from;
  float* to;
  std::size_t from_stride, to_stride;  ///< floats from one row to the next
  std::size_t rows;
  int columns;
};

}  // namespace murmurate
