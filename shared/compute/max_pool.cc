#include "shared/compute/max_pool.h"

namespace murmurate {

void MaxPoolForward(const MaxPoolCall& call, const LayerKernels& kernels) {
  kernels.max_pool(call);
}

}  // namespace murmurate
