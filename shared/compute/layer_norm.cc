#include "shared/compute/layer_norm.h"

namespace murmurate {

void LayerNormForward(const LayerNormCall& call, const LayerKernels& kernels) {
  kernels.layer_norm(call);
}

}  // namespace murmurate
