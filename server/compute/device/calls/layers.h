// The calls of a network's layers that take each number by itself. `type`: of the blocks without one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/elements.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// shared/model/layer.h's Activation, in its order.
enum class DeviceActivation : std::uint8_t { kNone, kTanh, kRelu, kElu, kSigmoid };

/// y <- activation(y + bias) over [rows][columns]; any number of threads.
struct BiasActivationCall {
  static constexpr KernelId kKernel = KernelId::kBiasActivation;
  void* y;
  const float* bias;  ///< [columns]; null: none
  std::size_t rows;
  int columns;
  DeviceActivation activation;
  ElementType type = ElementType::kFloat32;
};

/// y <- activation(x); any number of threads.
struct ActivateCall {
  static constexpr KernelId kKernel = KernelId::kActivate;
  const void* x;
  void* y;
  std::size_t count;
  DeviceActivation activation;
  ElementType type = ElementType::kFloat32;
};

/// dy <- dy times the activation's slope, which follows from its output y; any number of threads.
struct ActivationGradientCall {
  static constexpr KernelId kKernel = KernelId::kActivationGradient;
  void* dy;
  const void* y;
  std::size_t count;
  DeviceActivation activation;
  ElementType type = ElementType::kFloat32;
};

/// sum <- a + b, which may be one of them; any number of threads.
struct AddNumbersCall {
  static constexpr KernelId kKernel = KernelId::kAddNumbers;
  const void* a;
  const void* b;
  void* sum;
  std::size_t count;
  ElementType type = ElementType::kFloat32;
};

/// to <- from; any number of threads.
struct ConvertNumbersCall {
  static constexpr KernelId kKernel = KernelId::kConvertNumbers;
  const void* from;
  void* to;
  std::size_t count;
  ElementType from_type, to_type;
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
