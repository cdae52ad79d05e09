// All kernels of a device, by name: X(Name) stands for the kernel NameKernel of
// server/compute/device/kernels, whose argument is the struct NameCall of
// server/compute/device/calls. A new kernel is a line here, its struct and its body.
#pragma once

#include <cstdint>

#define MURMURATE_DEVICE_KERNELS(X) \
  X(BeginPass)                      \
  X(BiasActivation)                 \
  X(Transpose)

namespace murmurate {

enum class KernelId : std::uint16_t {
#define MURMURATE_KERNEL_ID(Name) k##Name,
  MURMURATE_DEVICE_KERNELS(MURMURATE_KERNEL_ID)
#undef MURMURATE_KERNEL_ID
};

}  // namespace murmurate
