#include "shared/compute/layer_norm.h"
#include "shared/compute/max_pool.h"

namespace murmurate {

void MaxPoolBackward(const MaxPoolBackwardCall& call, const LayerGradientKernels& kernels) {
  kernels.max_pool(call);
}

void LayerNormBackward(const LayerNormBackwardCall& call, const LayerGradientKernels& kernels) {
  kernels.layer_norm(call);
}

}  // namespace murmurate
