#include "shared/compute/vector_avx512.h"
// The vectors come first: the source below is written over them.
#include "shared/compute/dense_kernels_source.h"

namespace murmurate {

extern const DenseKernels kAvx512DenseKernels;
constinit const DenseKernels kAvx512DenseKernels = MakeDenseKernels(KernelSet::kAvx512, "avx512");

}  // namespace murmurate
