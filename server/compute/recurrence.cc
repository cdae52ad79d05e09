#include "server/compute/recurrence.h"

#include <algorithm>

namespace murmurate {

void CopyUnlessFirst(int rows, int count, const std::uint8_t* first, const float* from,
                     std::ptrdiff_t from_stride, float* to, std::ptrdiff_t to_stride) {
  for (int row = 0; row < rows; ++row, to += to_stride) {
    if (from == nullptr || first[row] != 0)
      std::fill_n(to, count, 0.0f);
    else
      std::copy_n(from + row * from_stride, count, to);
  }
}

void MultiplyByTranspose(const DenseKernels& kernels, int rows, int depth, int columns,
                         const float* dz, const float* weight, const float* turned, float* dx) {
  GemmCall call = {.rows = rows,
                   .columns = depth,
                   .depth = columns,
                   .a = dz,
                   .a_row_stride = columns,
                   .c = dx,
                   .c_row_stride = depth};
  if (rows <= kFewRows) {
    call.b_transposed = weight;
  } else {
    call.b = turned;
    call.b_row_stride = depth;
  }
  kernels.gemm(call);
}

void AddOuterProducts(const DenseKernels& kernels, int rows, int depth, int columns, const float* x,
                      const float* dz, float* d_weight) {
  kernels.gemm({.rows = depth,
                .columns = columns,
                .depth = rows,
                .a = x,
                .a_row_stride = 1,
                .a_column_stride = depth,
                .b = dz,
                .b_row_stride = columns,
                .c = d_weight,
                .c_row_stride = columns,
                .accumulate = true});
}

}  // namespace murmurate
