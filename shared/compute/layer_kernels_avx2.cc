#include "shared/compute/vector_avx2.h"
// The vectors come first: the source below is written over them.
#include "shared/compute/layer_kernels_source.h"

namespace murmurate {

extern const DenseKernels kAvx2DenseKernels;
extern const LayerKernels kAvx2LayerKernels;
constinit const LayerKernels kAvx2LayerKernels = MakeLayerKernels(&kAvx2DenseKernels);

}  // namespace murmurate
