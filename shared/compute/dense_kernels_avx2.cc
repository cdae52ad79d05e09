#include "shared/compute/vector_avx2.h"
// The vectors come first: the source below is written over them.
#include "shared/compute/dense_kernels_source.h"

namespace murmurate {

extern const DenseKernels kAvx2DenseKernels;
constinit const DenseKernels kAvx2DenseKernels = MakeDenseKernels(KernelSet::kAvx2, "avx2");

}  // namespace murmurate
