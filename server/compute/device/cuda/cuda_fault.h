// CudaFault: the first thing that failed on a GPU; after an illegal address or lost hardware every
// call of CUDA fails, and only the first says why.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace murmurate {

class CudaFault {
 public:
  bool ok() const { return text_.empty(); }
  /// Empty, or "the GPU failed while waiting for an event: an illegal memory access was encountered
  /// (cudaErrorIllegalAddress); the last kernel that was enqueued is StepParameters".
  const std::string& text() const { return text_; }

  void Set(std::string text) {
    if (text_.empty()) text_ = std::move(text);
  }
  /// Notes a failed call, which was `doing` something ("copying to the GPU"). True: it
  /// did not fail.
  bool Check(cudaError_t code, const char* doing) {
    if (code == cudaSuccess) return true;
    (void)cudaGetLastError();  // the runtime keeps it, too
    Set(std::string("the GPU failed while ") + doing + ": " + cudaGetErrorString(code) + " (" +
        cudaGetErrorName(code) + ")" +
        (kernel_ == nullptr ? ""
                            : std::string("; the last kernel that was enqueued is ") + kernel_));
    return false;
  }
  /// Kernels run later than they are started: what fails in one is noticed by a later call.
  void Enqueued(const char* kernel) { kernel_ = kernel; }

 private:
  std::string text_;
  const char* kernel_ = nullptr;
};

}  // namespace murmurate
