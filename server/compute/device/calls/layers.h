// The calls of a network's layers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// shared/model/layer.h's Activation, in its order.
enum class DeviceActivation : std::uint8_t { kNone, kTanh, kRelu, kElu, kSigmoid };

/// y <- activation(y + bias) over [rows][columns]; one thread a number.
struct BiasActivationCall {
  static constexpr KernelId kKernel = KernelId::kBiasActivation;
  float* y;
  const float* bias;  ///< [columns]; null: none
  std::size_t rows;
  int columns;
  DeviceActivation activation;
};

}  // namespace murmurate
