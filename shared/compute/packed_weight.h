// A weight matrix packed for one set of kernels: its columns in panels of the width of the gemm's
// tile, each panel contiguous, so that a product of few rows streams through memory once. Same
// numbers, other order: [panel][depth][panel width], the last panel as wide as what is left.
// For a client, packed once per version; a weight no wider than one panel need not be packed.
#pragma once

#include <cstddef>

#include "shared/compute/dense_kernels.h"

namespace murmurate {

/// weight [depth][columns], contiguous -> packed, depth * columns floats (64-byte aligned is
/// faster).
void PackWeight(int depth, int columns, const float* weight, float* packed,
                const DenseKernels& kernels = BestDenseKernels());

/// As DenseKernels::gemm, with call.b a packed weight of call.depth x call.columns; b_row_stride is
/// not read.
void PackedGemm(const GemmCall& call, const DenseKernels& kernels = BestDenseKernels());

}  // namespace murmurate
