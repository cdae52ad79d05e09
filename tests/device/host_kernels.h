// Every kernel of server/compute/device/kernel_list.h, compiled for this processor.
#pragma once

#include "tests/device/kernel_block.h"

namespace murmurate {

inline constexpr std::size_t kKernels = 0
#define MURMURATE_COUNT_KERNEL(Name) +1
    MURMURATE_DEVICE_KERNELS(MURMURATE_COUNT_KERNEL)
#undef MURMURATE_COUNT_KERNEL
    ;

const HostKernel& HostKernelOf(KernelId kernel);

}  // namespace murmurate
