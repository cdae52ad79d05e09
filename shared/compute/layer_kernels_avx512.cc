#include "shared/compute/vector_avx512.h"
// The vectors come first: the source below is written over them.
#include "shared/compute/layer_kernels_source.h"

namespace murmurate {

extern const DenseKernels kAvx512DenseKernels;
extern const LayerKernels kAvx512LayerKernels;
constinit const LayerKernels kAvx512LayerKernels = MakeLayerKernels(&kAvx512DenseKernels);

}  // namespace murmurate
