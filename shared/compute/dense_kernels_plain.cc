#include "shared/compute/vector_plain.h"
// The vectors come first: the source below is written over them.
#include "shared/compute/dense_kernels_source.h"

namespace murmurate {

extern const DenseKernels kPlainDenseKernels;
constinit const DenseKernels kPlainDenseKernels = MakeDenseKernels(KernelSet::kPlain, "plain");

}  // namespace murmurate
