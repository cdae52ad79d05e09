#include "shared/compute/vector_plain.h"
// The vectors come first: the source below is written over them.
#include "server/compute/layer_gradient_kernels_source.h"

namespace murmurate {

extern const LayerKernels kPlainLayerKernels;
extern const LayerGradientKernels kPlainLayerGradientKernels;
constinit const LayerGradientKernels kPlainLayerGradientKernels =
    MakeLayerGradientKernels(&kPlainLayerKernels);

}  // namespace murmurate
