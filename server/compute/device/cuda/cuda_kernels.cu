// Every kernel, compiled by nvcc. Nothing else of the plug-in is.
#include "server/compute/device/cuda/cuda_kernels.h"
#include "server/compute/device/kernels/all.h"

namespace murmurate {

const CudaKernel& CudaKernelOf(KernelId id) {
  static const CudaKernel kKernels[kCudaKernels] = {
#define MURMURATE_CUDA_KERNEL(Name) \
  {reinterpret_cast<const void*>(&Name##Kernel), #Name, sizeof(Name##Call)},
      MURMURATE_DEVICE_KERNELS(MURMURATE_CUDA_KERNEL)
#undef MURMURATE_CUDA_KERNEL
  };
  return kKernels[static_cast<std::size_t>(id)];
}

}  // namespace murmurate
