#include "server/compute/pool_and_norm_gradient.h"

namespace murmurate {

void MaxPoolBackward(const MaxPoolBackwardCall& call, const LayerGradientKernels& kernels) {
  kernels.max_pool(call);
}

void LayerNormBackward(const LayerNormBackwardCall& call, const LayerGradientKernels& kernels) {
  kernels.layer_norm(call);
}

}  // namespace murmurate
