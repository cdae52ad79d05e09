// What both recurrent layers do with products and states. Internal to shared/compute.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/dense_kernels.h"

namespace murmurate {

/// to[row] = from[row], or zeros where first[row] is 1 or `from` is null; `count` numbers a row.
void CopyUnlessFirst(int rows, int count, const std::uint8_t* first, const float* from,
                     std::ptrdiff_t from_stride, float* to, std::ptrdiff_t to_stride);

/// dx = dz weight^T with dz [rows][columns], weight [depth][columns] and dx [rows][depth]. Rows up
/// to kFewRows go along the rows of `weight` as it lies; more need it turned ([columns][depth]).
constexpr int kFewRows = 8;
void MultiplyByTranspose(const DenseKernels& kernels, int rows, int depth, int columns,
                         const float* dz, const float* weight, const float* turned, float* dx);

/// d_weight += x^T dz with x [rows][depth] and dz [rows][columns].
void AddOuterProducts(const DenseKernels& kernels, int rows, int depth, int columns, const float* x,
                      const float* dz, float* d_weight);

}  // namespace murmurate
