#include "shared/compute/vector_avx512.h"
// The vectors come first: the source below is written over them.
#include "server/compute/layer_gradient_kernels_source.h"

namespace murmurate {

extern const LayerKernels kAvx512LayerKernels;
extern const LayerGradientKernels kAvx512LayerGradientKernels;
constinit const LayerGradientKernels kAvx512LayerGradientKernels =
    MakeLayerGradientKernels(&kAvx512LayerKernels);

}  // namespace murmurate
