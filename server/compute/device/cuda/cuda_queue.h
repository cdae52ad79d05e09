// CudaQueue: one of a device's streams, as the libraries are given it.
#pragma once

#include <cuda_runtime_api.h>

#include "server/compute/device/device.h"

namespace murmurate {

struct CudaQueue {
  int number = 0;  ///< of the Stream, from 0
  cudaStream_t stream = nullptr;
  bool recording = false;  ///< a graph: nothing may be allocated, loaded or chosen
};

}  // namespace murmurate
