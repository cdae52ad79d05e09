#include "shared/compute/vector_plain.h"
// The vectors come first: the source below is written over them.
#include "shared/compute/layer_kernels_source.h"

namespace murmurate {

extern const DenseKernels kPlainDenseKernels;
extern const LayerKernels kPlainLayerKernels;
constinit const LayerKernels kPlainLayerKernels = MakeLayerKernels(&kPlainDenseKernels);

}  // namespace murmurate
