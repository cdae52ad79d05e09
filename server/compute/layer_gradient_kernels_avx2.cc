#include "shared/compute/vector_avx2.h"
// The vectors come first: the source below is written over them.
#include "server/compute/layer_gradient_kernels_source.h"

namespace murmurate {

extern const LayerKernels kAvx2LayerKernels;
extern const LayerGradientKernels kAvx2LayerGradientKernels;
constinit const LayerGradientKernels kAvx2LayerGradientKernels =
    MakeLayerGradientKernels(&kAvx2LayerKernels);

}  // namespace murmurate
