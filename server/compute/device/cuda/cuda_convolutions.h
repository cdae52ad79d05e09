// CudaConvolutions: convolutions and their gradients by cuDNN, which is opened for them.
//
// A plan (cudnn_plans.h) is made when a shape first comes, and kept; where several are at hand the fastest
// (cuda_tuning.h). cuDNN wants filters as
// [filters][ky][kx][channels] and of the pictures' type, so weights are turned and rounded on the way in,
// and their gradient on the way out, by the kernel Transpose. Each stream has a workspace of its own, which holds the turned weights and
// what the largest plan needs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/compute/device/calls/transpose.h"
#include "server/compute/device/cuda/cuda_queue.h"
#include "server/compute/device/cuda/cuda_tuning.h"

namespace murmurate {

class CudaConvolutions {
 public:
  /// Enqueues the kernel on the stream of the convolution.
  using Transposer = std::function<void(const TransposeCall& call)>;

  /// kResource: the library is missing, does not start, or this build is without it.
  static Result<std::unique_ptr<CudaConvolutions>> Open(DevicePrecision precision,
                                                        bool deterministic, CudaTuning tuning = {});
  virtual ~CudaConvolutions() = default;

  /// kResource: no plan, no memory for the workspace, or a new shape while a graph is recorded.
  virtual Status Convolve(const CudaQueue& queue, const ConvolutionCall& call,
                          const Transposer& transpose) = 0;
  virtual const std::string& version() const = 0;
};

}  // namespace murmurate
