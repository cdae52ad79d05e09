// The kernels of kernel_list.h as the runtime of CUDA starts them.
#pragma once

#include <cstddef>

#include "server/compute/device/kernel_list.h"

namespace murmurate {

struct CudaKernel {
  const void* function = nullptr;  ///< for cudaLaunchKernel
  const char* name = "";           ///< "BiasActivation"
  std::size_t call_bytes = 0;      ///< of its argument
};

inline constexpr int kCudaKernels = 0
#define MURMURATE_COUNT_KERNEL(Name) +1
    MURMURATE_DEVICE_KERNELS(MURMURATE_COUNT_KERNEL)
#undef MURMURATE_COUNT_KERNEL
    ;

const CudaKernel& CudaKernelOf(KernelId id);

}  // namespace murmurate
