// Events of CUDA's runtime that read a clock of the test: in tests of one library alone, once in each.
#pragma once

#include <cuda_runtime_api.h>

/// Milliseconds that the stand-in for the library has computed.
static float FakeClock();
/// Events that there are.
static int fake_events = 0;

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  ++fake_events;
  *event = reinterpret_cast<cudaEvent_t>(new float(0));
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  --fake_events;
  delete reinterpret_cast<float*>(event);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  *reinterpret_cast<float*>(event) = FakeClock();
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  *milliseconds = *reinterpret_cast<float*>(end) - *reinterpret_cast<float*>(begin);
  return cudaSuccess;
}
