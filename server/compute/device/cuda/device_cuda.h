// CudaDevice: a Device on an NVIDIA GPU. Streams do not wait for one another or for the default stream
// of other code; events sleep, they do not spin. Kernels are loaded as the device is opened, cuBLASLt
// with the first product, cuDNN with the first convolution, NCCL for a job of ranks.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <optional>

#include "murmurate/status.h"
#include "server/compute/device/cuda/cuda_convolutions.h"
#include "server/compute/device/cuda/cuda_fault.h"
#include "server/compute/device/cuda/cuda_handles.h"
#include "server/compute/device/cuda/cuda_products.h"
#include "server/compute/device/cuda/cuda_ranks.h"
#include "server/compute/device/plug_in.h"

namespace murmurate {

class CudaDevice final : public Device {
 public:
  /// kResource: one sentence that says what is missing.
  static Result<std::unique_ptr<CudaDevice>> Open(const DeviceRequest& request);
  ~CudaDevice() override;

  DeviceDescription description() override;
  std::string error() const override { return fault_.text(); }
  RankSums* rank_sums() override { return ranks_.get(); }

  void* Allocate(std::size_t bytes) override;
  void Free(void* memory) override;
  std::byte* AllocatePinned(std::size_t bytes) override;
  void FreePinned(std::byte* memory) override;

  void CopyIn(Stream stream, void* device, const void* host, std::size_t bytes) override;
  void CopyOut(Stream stream, void* host, const void* device, std::size_t bytes) override;
  void CopyWithin(Stream stream, void* to, const void* from, std::size_t bytes) override;
  void ClearMemory(Stream stream, void* device, std::size_t bytes) override;

  void Multiply(Stream stream, const ProductCall& call) override;
  void Convolve(Stream stream, const ConvolutionCall& call) override;

  DeviceEvent MakeEvent() override;
  void DropEvent(DeviceEvent event) override;
  void Record(Stream stream, DeviceEvent event) override;
  void WaitFor(Stream stream, DeviceEvent event) override;
  bool Reached(DeviceEvent event) override;
  void Await(DeviceEvent event) override;

  void BeginGraph(Stream stream) override;
  DeviceGraph EndGraph(Stream stream) override;
  void Replay(Stream stream, DeviceGraph graph) override;
  void DropGraph(DeviceGraph graph) override;

 protected:
  void LaunchKernel(Stream stream, KernelId kernel, const Grid& grid, const void* call,
                    std::size_t bytes) override;

 private:
  explicit CudaDevice(const DeviceRequest& request);
  Status MakeStreams();
  Status LoadKernels();
  /// Makes this thread's calls go to this GPU; false: it has failed.
  bool Enter();
  CudaQueue QueueOf(Stream stream) const;

  const DeviceRequest request_;
  CudaFault fault_;
  std::array<cudaStream_t, kStreams> streams_{};
  std::optional<Stream> recording_;
  CudaHandles<cudaEvent_t> events_;
  CudaHandles<cudaGraphExec_t> graphs_;
  std::unique_ptr<CudaProducts> products_;
  std::unique_ptr<CudaConvolutions> convolutions_;
  std::unique_ptr<RankSums> ranks_;
};

}  // namespace murmurate
