#include "shared/compute/packed_weight.h"

#include <algorithm>
#include <cstring>

namespace murmurate {

void PackWeight(int depth, int columns, const float* weight, float* packed,
                const DenseKernels& kernels) {
  for (int column = 0; column < columns; column += kernels.panel_columns) {
    const int width = std::min(kernels.panel_columns, columns - column);
    for (int k = 0; k < depth; ++k, packed += width)
      std::memcpy(packed, weight + std::ptrdiff_t{k} * columns + column, width * sizeof(float));
  }
}

void PackedGemm(const GemmCall& call, const DenseKernels& kernels) {
  for (int column = 0; column < call.columns; column += kernels.panel_columns) {
    GemmCall panel = call;
    panel.columns = std::min(kernels.panel_columns, call.columns - column);
    panel.b = call.b + std::ptrdiff_t{column} * call.depth;
    panel.b_row_stride = panel.columns;
    panel.c = call.c + column;
    if (call.bias != nullptr) panel.bias = call.bias + column;
    if (call.output != nullptr) panel.output = call.output + column;
    kernels.gemm(panel);
  }
}

}  // namespace murmurate
