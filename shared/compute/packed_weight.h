// A weight matrix packed for one set of kernels: its columns in panels of the width of the gemm's
// tile, each panel contiguous, so that a product of few rows streams through memory once. Same
// numbers, other order: [panel][depth][panel width], the last panel as wide as what is left.
// For a client, packed once per version; a weight no wider than one panel need not be packed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "shared/compute/dense_kernels.h"

namespace murmurate {

/// weight [depth][columns], contiguous -> packed, depth * columns floats (64-byte aligned is
/// faster).
void PackWeight(int depth, int columns, const float* weight, float* packed,
                const DenseKernels& kernels = BestKernels<DenseKernels>());

/// A PackedRun maps number `index` of the unpacked weight to its offset in the packed one, with the
/// count of numbers that follow it in both.
struct PackedRun {
  std::size_t place = 0, count = 0;
};
inline PackedRun FindPackedRun(int depth, int columns, std::size_t index,
                               const DenseKernels& kernels) {
  const std::size_t row = index / static_cast<std::size_t>(columns);
  const int column = static_cast<int>(index % static_cast<std::size_t>(columns));
  const int panel = column / kernels.panel_columns * kernels.panel_columns;
  const int width = std::min(kernels.panel_columns, columns - panel);
  return {static_cast<std::size_t>(panel) * depth + row * width + (column - panel),
          static_cast<std::size_t>(width - (column - panel))};
}

/// Computes the product of DenseKernels::gemm with call.b a packed weight of call.depth x
/// call.columns; b_row_stride is not read.
void PackedGemm(const GemmCall& call, const DenseKernels& kernels = BestKernels<DenseKernels>());

}  // namespace murmurate
