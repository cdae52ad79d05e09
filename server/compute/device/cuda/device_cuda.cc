#include "server/compute/device/cuda/device_cuda.h"

#include "server/compute/device/cuda/cuda_kernels.h"
#include "server/compute/device/cuda/cuda_survey.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

Status Failed(const char* doing, cudaError_t code) {
  CudaFault fault;
  fault.Check(code, doing);
  return ResourceError(fault.text());
}

CudaTuning TuningOf(const DeviceRequest& request, const std::string& device) {
  const char* const precision = request.precision == DevicePrecision::kFp32   ? "fp32"
                                : request.precision == DevicePrecision::kTf32 ? "tf32"
                                                                              : "bf16";
  return {.choices = request.choices,
          .device = device + ", " + precision + (request.deterministic ? ", deterministic" : "")};
}

void* Untyped(const void* memory) { return const_cast<void*>(memory); }

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::Open(const DeviceRequest& request) {
  MURMURATE_RETURN_IF_ERROR(CheckDriver());
  MURMURATE_RETURN_IF_ERROR(CheckDevice(request.index));
  std::unique_ptr<CudaDevice> device(new CudaDevice(request));
  if (const cudaError_t code = cudaSetDevice(request.index); code != cudaSuccess)
    return Failed("it was opened", code);
  MURMURATE_RETURN_IF_ERROR(device->MakeStreams());
  MURMURATE_RETURN_IF_ERROR(device->LoadKernels());
  return device;
}

CudaDevice::CudaDevice(const DeviceRequest& request)
    : request_(request), ranks_(MakeCudaRanks(request_.index, &fault_, [this](Stream stream) {
        return QueueOf(stream);
      })) {}

Status CudaDevice::MakeStreams() {
  for (cudaStream_t& stream : streams_) {
    const cudaError_t code = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (code != cudaSuccess) return Failed("making a stream", code);
  }
  return {};
}

Status CudaDevice::LoadKernels() {
  for (int id = 0; id < kCudaKernels; ++id) {
    const CudaKernel& kernel = CudaKernelOf(static_cast<KernelId>(id));
    cudaFuncAttributes attributes{};
    const cudaError_t code = cudaFuncGetAttributes(&attributes, kernel.function);
    if (code != cudaSuccess)
      return Failed((std::string("loading the kernel ") + kernel.name).c_str(), code);
  }
  return {};
}

CudaDevice::~CudaDevice() {
  cudaSetDevice(request_.index);
  cudaDeviceSynchronize();
  convolutions_.reset();
  products_.reset();
  graphs_.Each(cudaGraphExecDestroy);
  ranks_.reset();  // which graphs have sums of
  events_.Each(cudaEventDestroy);
  for (cudaStream_t stream : streams_)
    if (stream != nullptr) cudaStreamDestroy(stream);
}

bool CudaDevice::Enter() {
  return fault_.ok() && fault_.Check(cudaSetDevice(request_.index), "it was chosen");
}

CudaQueue CudaDevice::QueueOf(Stream stream) const {
  const auto number = static_cast<std::size_t>(stream);
  return {.number = static_cast<int>(number),
          .stream = streams_[number],
          .recording = recording_ == stream};
}

DeviceDescription CudaDevice::description() {
  DeviceDescription description{.driver = DriverVersion(),
                                .libraries = "CUDA " + CudaVersionText(CUDART_VERSION),
                                .arithmetic = {.precision = request_.precision}};
  if (products_ != nullptr) description.libraries += ", cuBLASLt " + products_->version();
  if (convolutions_ != nullptr) description.libraries += ", cuDNN " + convolutions_->version();
  cudaDeviceProp properties{};
  if (!Enter() || cudaGetDeviceProperties(&properties, request_.index) != cudaSuccess)
    return description;
  description.name = properties.name;
  description.multiprocessors = properties.multiProcessorCount;
  cudaMemGetInfo(&description.free_bytes, &description.memory_bytes);
  constexpr int kLowestOfBf16 = 8;  // Ampere
  if (request_.precision == DevicePrecision::kBf16 && properties.major >= kLowestOfBf16)
    description.arithmetic.pictures = ElementType::kBf16;
  return description;
}

void* CudaDevice::Allocate(std::size_t bytes) {
  void* memory = nullptr;
  if (!Enter() || bytes == 0) return nullptr;
  const cudaError_t code = cudaMalloc(&memory, bytes);
  if (code == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return fault_.Check(code, "allocating memory") ? memory : nullptr;
}

void CudaDevice::Free(void* memory) {
  if (memory == nullptr || !Enter()) return;
  fault_.Check(cudaDeviceSynchronize(), "waiting for all that was enqueued");
  fault_.Check(cudaFree(memory), "freeing memory");
}

std::byte* CudaDevice::AllocatePinned(std::size_t bytes) {
  void* memory = nullptr;
  if (bytes == 0 || cudaSetDevice(request_.index) != cudaSuccess ||
      cudaHostAlloc(&memory, bytes, cudaHostAllocPortable) != cudaSuccess) {
    (void)cudaGetLastError();
    return nullptr;
  }
  return static_cast<std::byte*>(memory);
}

void CudaDevice::FreePinned(std::byte* memory) {
  if (memory == nullptr) return;
  if (cudaSetDevice(request_.index) != cudaSuccess || cudaFreeHost(memory) != cudaSuccess)
    (void)cudaGetLastError();  // of a device that has failed it is freed as the process ends
}

void CudaDevice::CopyIn(Stream stream, void* device, const void* host, std::size_t bytes) {
  if (bytes == 0 || !Enter()) return;
  MURMURATE_CHECK(recording_ != stream, "a copy of host memory is no part of a graph");
  fault_.Check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, QueueOf(stream).stream),
               "copying to the GPU");
}

void CudaDevice::CopyOut(Stream stream, void* host, const void* device, std::size_t bytes) {
  if (bytes == 0 || !Enter()) return;
  MURMURATE_CHECK(recording_ != stream, "a copy of host memory is no part of a graph");
  fault_.Check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, QueueOf(stream).stream),
               "copying from the GPU");
}

void CudaDevice::CopyWithin(Stream stream, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0 || !Enter()) return;
  fault_.Check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, QueueOf(stream).stream),
               "copying within the GPU");
}

void CudaDevice::ClearMemory(Stream stream, void* device, std::size_t bytes) {
  if (bytes == 0 || !Enter()) return;
  fault_.Check(cudaMemsetAsync(device, 0, bytes, QueueOf(stream).stream), "clearing memory");
}

void CudaDevice::LaunchKernel(Stream stream, KernelId id, const Grid& grid, const void* call,
                              std::size_t bytes) {
  const CudaKernel& kernel = CudaKernelOf(id);
  MURMURATE_CHECK(bytes == kernel.call_bytes, "both sides have the same headers");
  if (!Enter()) return;
  void* arguments[] = {Untyped(call)};
  fault_.Enqueued(kernel.name);
  fault_.Check(cudaLaunchKernel(kernel.function, dim3(grid.blocks, grid.rows), dim3(grid.threads),
                                arguments, grid.block_bytes, QueueOf(stream).stream),
               "starting a kernel");
}

void CudaDevice::Multiply(Stream stream, const ProductCall& call) {
  if (!Enter()) return;
  if (products_ == nullptr) {
    auto opened = CudaProducts::Open(request_.precision, request_.deterministic,
                                     TuningOf(request_, description().name));
    if (!opened.ok()) return fault_.Set(opened.status().message());
    products_ = *std::move(opened);
  }
  if (const Status status = products_->Multiply(QueueOf(stream), call); !status.ok())
    fault_.Set(status.message());
}

void CudaDevice::Convolve(Stream stream, const ConvolutionCall& call) {
  if (!Enter()) return;
  if (convolutions_ == nullptr) {
    auto opened = CudaConvolutions::Open(request_.precision, request_.deterministic,
                                         TuningOf(request_, description().name));
    if (!opened.ok()) return fault_.Set(opened.status().message());
    convolutions_ = *std::move(opened);
  }
  const auto transpose = [this, stream](const TransposeCall& matrix) {
    Launch(stream, TransposeGrid(matrix), matrix);
  };
  if (const Status status = convolutions_->Convolve(QueueOf(stream), call, transpose); !status.ok())
    fault_.Set(status.message());
}

DeviceEvent CudaDevice::MakeEvent() {
  cudaEvent_t event = nullptr;
  if (Enter())
    fault_.Check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
                 "making an event");
  if (!fault_.ok()) return -1;
  return events_.Add(event);
}

void CudaDevice::DropEvent(DeviceEvent event) {
  if (event >= 0 && Enter())
    fault_.Check(cudaEventDestroy(events_.Remove(event)), "freeing an event");
}

void CudaDevice::Record(Stream stream, DeviceEvent event) {
  if (!Enter()) return;
  MURMURATE_CHECK(recording_ != stream, "an event is no part of a graph");
  fault_.Check(cudaEventRecord(events_.Of(event), QueueOf(stream).stream), "recording an event");
}

void CudaDevice::WaitFor(Stream stream, DeviceEvent event) {
  if (!Enter()) return;
  MURMURATE_CHECK(recording_ != stream, "an event is no part of a graph");
  fault_.Check(cudaStreamWaitEvent(QueueOf(stream).stream, events_.Of(event), 0),
               "letting a stream wait");
}

bool CudaDevice::Reached(DeviceEvent event) {
  if (!Enter()) return true;
  const cudaError_t code = cudaEventQuery(events_.Of(event));
  if (code == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return false;
  }
  fault_.Check(code, "asking for an event");
  return true;
}

void CudaDevice::Await(DeviceEvent event) {
  if (!Enter()) return;
  fault_.Check(cudaEventSynchronize(events_.Of(event)), "waiting for an event");
}

void CudaDevice::BeginGraph(Stream stream) {
  MURMURATE_CHECK(!recording_, "one graph is recorded at a time");
  if (!Enter()) return;
  // Of this thread alone: another may allocate pinned memory meanwhile.
  if (fault_.Check(cudaStreamBeginCapture(QueueOf(stream).stream, cudaStreamCaptureModeThreadLocal),
                   "beginning a graph"))
    recording_ = stream;
}

DeviceGraph CudaDevice::EndGraph(Stream stream) {
  if (recording_ != stream) return -1;  // the device had failed
  recording_.reset();
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  fault_.Check(cudaStreamEndCapture(QueueOf(stream).stream, &graph), "ending a graph");
  if (fault_.ok()) fault_.Check(cudaGraphInstantiate(&executable, graph, 0), "making a graph");
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (!fault_.ok()) return -1;
  fault_.Check(cudaGraphUpload(executable, QueueOf(stream).stream), "loading a graph");
  return graphs_.Add(executable);
}

void CudaDevice::Replay(Stream stream, DeviceGraph graph) {
  if (!Enter()) return;
  fault_.Enqueued("in a graph");
  fault_.Check(cudaGraphLaunch(graphs_.Of(graph), QueueOf(stream).stream), "starting a graph");
}

void CudaDevice::DropGraph(DeviceGraph graph) {
  if (graph >= 0 && Enter())
    fault_.Check(cudaGraphExecDestroy(graphs_.Remove(graph)), "freeing a graph");
}

}  // namespace murmurate
