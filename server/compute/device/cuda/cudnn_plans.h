// Plans of cuDNN for one convolution, by its graph interface (cudnn_graph.h): which of its engines
// computes it, and how much workspace that needs. A plan is made for the GPU of a handle, or for a GPU
// that a text describes, where there is none (tests, since cuDNN 9.8).
//
// Pictures are NHWC; filters are [filters][ky][kx][channels], unlike ConvolutionCall::weight, and of the
// pictures' type (cuDNN 9.19 has no engine that gives float32 filters for bf16 pictures); sums are
// float32. Engines
// that are compiled at run time are left out: they need nvrtc, and a compiler in the middle of a
// training step.
//
//   kFp32   no engine that rounds its factors, and none that computes by another formula (FFT,
//           Winograd): the reference
//   kTf32   tensor cores may round factors to TF32; on a GPU without TF32 as kFp32, with Winograd
//   kBf16   as kTf32 where pictures are float32: cuDNN multiplies bf16 from bf16 storage alone
#pragma once

#include <cudnn_graph.h>

#include <memory>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/compute/device/cuda/cuda_libraries.h"
#include "server/compute/device/device.h"

namespace murmurate {

/// The one that the plug-in was compiled for.
CudaLibraryName CudnnName();
/// "9.19.0"
std::string CudnnVersion(const CudaLibrary& library);

/// The functions of cuDNN that are used.
struct CudnnFunctions {
  decltype(&cudnnCreate) create = nullptr;
  decltype(&cudnnDestroy) destroy = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnGetLastErrorString) last_error = nullptr;
  decltype(&cudnnBackendCreateDescriptor) create_descriptor = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy_descriptor = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnBackendExecute) execute = nullptr;

  static Result<CudnnFunctions> Of(const CudaLibrary& library);
};

/// Where plans are for: the GPU of `handle`, or without one that of `description` (JSON, as
/// CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION has it).
struct CudnnTarget {
  cudnnHandle_t handle = nullptr;
  std::string description = "";
};

struct CudnnPlanRules {
  DevicePrecision precision = DevicePrecision::kFp32;
  bool deterministic = true;  ///< no engine whose sums have a changing order
  /// The first plan in cuDNN's order that needs no more; else the one that needs least.
  std::size_t workspace_bytes = kConvolutionWorkspaceBytes;
};

/// One of cuDNN's objects; it is destroyed with this.
class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  CudnnDescriptor(const CudnnFunctions& functions, cudnnBackendDescriptorType_t type);
  ~CudnnDescriptor();
  CudnnDescriptor(CudnnDescriptor&& other) noexcept;
  CudnnDescriptor& operator=(CudnnDescriptor&& other) noexcept;

  template <typename T>
  CudnnDescriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       const T* values, std::size_t count) {
    return SetBytes(name, type, static_cast<std::int64_t>(count), values);
  }
  template <typename T>
  CudnnDescriptor& Set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                       T value) {
    return SetBytes(name, type, 1, &value);
  }
  CudnnDescriptor& Set(cudnnBackendAttributeName_t name, const CudnnDescriptor& other);
  /// How many of `most` there are; they lie in `values`. -1: it failed.
  int Get(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int most,
          void* values) const;
  /// The first thing that failed since it was made; kResource.
  Status Finalize();
  cudnnBackendDescriptor_t get() const { return descriptor_; }

 private:
  CudnnDescriptor& SetBytes(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                            std::int64_t count, const void* values);

  const CudnnFunctions* functions_ = nullptr;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  cudnnStatus_t status_ = CUDNN_STATUS_SUCCESS;
};

/// Names of a plan's blocks in a variant pack.
inline constexpr std::int64_t kCudnnInput = 1, kCudnnWeight = 2, kCudnnOutput = 3;

struct CudnnPlan {
  std::shared_ptr<const std::vector<CudnnDescriptor>> graph;  ///< what it computes
  std::vector<CudnnDescriptor> parts;                         ///< what else it was made of
  CudnnDescriptor plan;
  std::size_t workspace_bytes = 0;
  std::int64_t engine = -1;  ///< cuDNN's number of it
};

/// The plan of a convolution of the call's shape; its pointers are not read. kResource: there is
/// none. `functions` stays as long as the plan.
Result<CudnnPlan> PlanConvolution(const CudnnFunctions& functions, const CudnnTarget& target,
                                  const ConvolutionCall& shape, const CudnnPlanRules& rules);
/// The same, and those that come after it, `most` together, in cuDNN's order.
Result<std::vector<CudnnPlan>> PlanConvolutions(const CudnnFunctions& functions,
                                                const CudnnTarget& target,
                                                const ConvolutionCall& shape,
                                                const CudnnPlanRules& rules, int most);

}  // namespace murmurate
