// In place of cuda_convolutions.cc in a build without the headers of cuDNN.
#include "server/compute/device/cuda/cuda_convolutions.h"

namespace murmurate {

Result<std::unique_ptr<CudaConvolutions>> CudaConvolutions::Open(DevicePrecision, bool,
                                                                 CudaTuning) {
  return ResourceError(
      "this murmurate was built without cuDNN, which convolutions need; run `pip "
      "install nvidia-cudnn-cu13` and build it again");
}

}  // namespace murmurate
