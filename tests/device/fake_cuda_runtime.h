// A stand-in for CUDA's runtime over host memory: what is enqueued is done at once, or kept while a
// graph is recorded. Kernels are functions of the host (FakeKernel).
#pragma once

#include <cuda_runtime_api.h>

#include <string>
#include <vector>

/// What this machine has, and what fails next.
struct FakeCudaRuntime {
  int driver = CUDART_VERSION, devices = 1, major = 9, minor = 0;
  int current = -1;                ///< what cudaSetDevice last set
  std::string fails;               ///< the name of a function that fails from now on
  cudaError_t code = cudaSuccess;  ///< with this
  int allocated = 0;               ///< blocks of the device and of pinned memory
  int objects = 0;                 ///< streams, events and graphs
  std::vector<std::string> launched;
  std::size_t block_bytes = 0;  ///< of the last launch: memory of a block, besides its arrays

  static FakeCudaRuntime& Get();
};

/// Of a kernel: runs the whole grid with its call.
using FakeKernel = void (*)(dim3 blocks, dim3 threads, const void* call);
