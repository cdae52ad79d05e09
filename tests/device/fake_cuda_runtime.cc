#include "tests/device/fake_cuda_runtime.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/calls/transpose.h"
#include "server/compute/device/cuda/cuda_kernels.h"

namespace {

using Work = std::vector<std::function<void()>>;

Work* recording = nullptr;  ///< of the stream that a graph is recorded on
cudaStream_t recording_stream = nullptr;

FakeCudaRuntime& State() { return FakeCudaRuntime::Get(); }

cudaError_t CodeOf(const char* function) {
  return State().fails == function ? State().code : cudaSuccess;
}

void Enqueue(cudaStream_t stream, std::function<void()> work) {
  if (recording != nullptr && stream == recording_stream)
    recording->push_back(std::move(work));
  else
    work();
}

template <typename Handle>
cudaError_t Make(const char* function, Handle* handle) {
  if (const cudaError_t code = CodeOf(function); code != cudaSuccess) return code;
  *handle = reinterpret_cast<Handle>(new char);
  ++State().objects;
  return cudaSuccess;
}
template <typename Handle>
cudaError_t Drop(Handle handle) {
  delete reinterpret_cast<char*>(handle);
  --State().objects;
  return cudaSuccess;
}

cudaError_t Allocate(const char* function, void** memory, std::size_t bytes) {
  if (const cudaError_t code = CodeOf(function); code != cudaSuccess) return code;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  ++State().allocated;
  return cudaSuccess;
}
cudaError_t Free(const char* function, void* memory) {
  if (const cudaError_t code = CodeOf(function); code != cudaSuccess) return code;
  if (memory != nullptr) --State().allocated;
  std::free(memory);
  return cudaSuccess;
}

void RunBiasActivation(dim3, dim3, const void* bytes) {
  const auto& call = *static_cast<const murmurate::BiasActivationCall*>(bytes);
  auto* const y = static_cast<float*>(call.y);
  for (std::size_t i = 0; i < call.rows * static_cast<std::size_t>(call.columns); ++i)
    y[i] = std::tanh(y[i] + call.bias[i % static_cast<std::size_t>(call.columns)]);
}
void RunTranspose(dim3 blocks, dim3, const void* bytes) {
  const auto& call = *static_cast<const murmurate::TransposeCall*>(bytes);
  for (int row = 0; row < std::min(call.rows, static_cast<int>(blocks.y) * 32); ++row)
    for (int column = 0; column < std::min(call.columns, static_cast<int>(blocks.x) * 32); ++column)
      static_cast<float*>(call.to)[column * call.rows + row] =
          static_cast<const float*>(call.from)[row * call.columns + column];
}
template <int kName>  // so that each has a function of its own
void RunNothing(dim3, dim3, const void*) {}

constexpr FakeKernel KernelOf(murmurate::KernelId id, FakeKernel other) {
  if (id == murmurate::KernelId::kBiasActivation) return RunBiasActivation;
  if (id == murmurate::KernelId::kTranspose) return RunTranspose;
  return other;
}

}  // namespace

FakeCudaRuntime& FakeCudaRuntime::Get() {
  static FakeCudaRuntime runtime;
  return runtime;
}

// In place of cuda_kernels.cu.
namespace murmurate {
const CudaKernel& CudaKernelOf(KernelId id) {
  static const std::size_t kBias = sizeof(BiasActivationCall), kTurn = sizeof(TransposeCall);
  static const CudaKernel kKernels[kCudaKernels] = {
#define MURMURATE_FAKE_KERNEL(Name)                                                   \
  {reinterpret_cast<const void*>(                                                     \
       KernelOf(KernelId::k##Name, RunNothing<static_cast<int>(KernelId::k##Name)>)), \
   #Name,                                                                             \
   KernelId::k##Name == KernelId::kBiasActivation ? kBias                             \
   : KernelId::k##Name == KernelId::kTranspose    ? kTurn                             \
                                                  : 0},
      MURMURATE_DEVICE_KERNELS(MURMURATE_FAKE_KERNEL)
#undef MURMURATE_FAKE_KERNEL
  };
  return kKernels[static_cast<std::size_t>(id)];
}
}  // namespace murmurate

extern "C" {

cudaError_t cudaDriverGetVersion(int* version) {
  *version = State().driver;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 0;
  if (State().driver < CUDART_VERSION) return cudaErrorInsufficientDriver;
  if (State().devices == 0) return cudaErrorNoDevice;
  *count = State().devices;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "Fake GPU");
  properties->major = State().major;
  properties->minor = State().minor;
  properties->multiProcessorCount = 12;
  return CodeOf("cudaGetDeviceProperties");
}
cudaError_t cudaSetDevice(int device) {
  State().current = device;
  return CodeOf("cudaSetDevice");
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t code) {
  return code == cudaErrorIllegalAddress ? "an illegal memory access was encountered" : "it failed";
}
const char* cudaGetErrorName(cudaError_t code) {
  return code == cudaErrorIllegalAddress ? "cudaErrorIllegalAddress" : "cudaErrorOther";
}
cudaError_t cudaDeviceSynchronize() { return CodeOf("cudaDeviceSynchronize"); }
cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all_bytes) {
  *free_bytes = 1000;
  *all_bytes = 3000;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) {
  return CodeOf("cudaFuncGetAttributes");
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return Allocate("cudaMalloc", memory, bytes);
}
cudaError_t cudaFree(void* memory) { return Free("cudaFree", memory); }
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return Allocate("cudaHostAlloc", memory, bytes);
}
cudaError_t cudaFreeHost(void* memory) { return Free("cudaFreeHost", memory); }

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  Enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  return CodeOf("cudaMemcpyAsync");
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t stream) {
  Enqueue(stream, [=] { std::memset(memory, value, bytes); });
  return CodeOf("cudaMemsetAsync");
}
cudaError_t cudaLaunchKernel(const void* function, dim3 blocks, dim3 threads, void** arguments,
                             std::size_t block_bytes, cudaStream_t stream) {
  State().block_bytes = block_bytes;
  for (int id = 0; id < murmurate::kCudaKernels; ++id) {
    const auto& kernel = murmurate::CudaKernelOf(static_cast<murmurate::KernelId>(id));
    if (kernel.function != function) continue;
    const auto* const bytes = static_cast<const std::byte*>(arguments[0]);
    const std::vector<std::byte> call(bytes, bytes + kernel.call_bytes);
    Enqueue(stream, [=] {
      State().launched.emplace_back(kernel.name);
      reinterpret_cast<FakeKernel>(function)(blocks, threads, call.data());
    });
  }
  return CodeOf("cudaLaunchKernel");
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  if (flags != cudaStreamNonBlocking) return cudaErrorInvalidValue;
  return Make("cudaStreamCreateWithFlags", stream);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return Drop(stream); }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if (flags != (cudaEventDisableTiming | cudaEventBlockingSync)) return cudaErrorInvalidValue;
  return Make("cudaEventCreateWithFlags", event);
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return Make("cudaEventCreate", event); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = 1;
  return CodeOf("cudaEventElapsedTime");
}
cudaError_t cudaEventDestroy(cudaEvent_t event) { return Drop(event); }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return CodeOf("cudaEventRecord"); }
cudaError_t cudaEventQuery(cudaEvent_t) { return CodeOf("cudaEventQuery"); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return CodeOf("cudaEventSynchronize"); }

// A graph is the list of its work; an executable one a copy of it.
cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  if (mode != cudaStreamCaptureModeThreadLocal) return cudaErrorInvalidValue;
  recording = new Work;
  recording_stream = stream;
  return CodeOf("cudaStreamBeginCapture");
}
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = reinterpret_cast<cudaGraph_t>(recording);
  recording = nullptr;
  return CodeOf("cudaStreamEndCapture");
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                 unsigned long long) {
  if (const cudaError_t code = CodeOf("cudaGraphInstantiate"); code != cudaSuccess) return code;
  *executable = reinterpret_cast<cudaGraphExec_t>(new Work(*reinterpret_cast<Work*>(graph)));
  ++State().objects;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete reinterpret_cast<Work*>(graph);
  return cudaSuccess;
}
cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return cudaSuccess; }
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t) {
  for (const auto& work : *reinterpret_cast<Work*>(executable)) work();
  return CodeOf("cudaGraphLaunch");
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  delete reinterpret_cast<Work*>(executable);
  --State().objects;
  return cudaSuccess;
}

}  // extern "C"
