// DenseKernels: the arithmetic of dense networks, compiled from one source
// (dense_kernels_source.h) for each set of kernel_set.h. No dependency: the client ships it.
//
// Every function is pure, reads only what its call names, allocates nothing, and may be called by
// any number of threads at once. The learner uses the same functions as the client, so that the
// log-probability an actor recorded and the one the learner computes agree to rounding.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/kernel_set.h"

namespace murmurate {

/// An Epilogue is applied to each sum before it is stored. The gradient forms multiply by the
/// derivative of the activation, computed from the activation's own output y (GemmCall::output):
/// tanh: 1 - y^2, relu: y > 0, elu (x > 0 ? x : exp(x) - 1): y > 0 ? 1 : y + 1, sigmoid: y (1 - y).
enum class Epilogue : std::uint8_t {
  kNone,
  kTanh,
  kRelu,
  kTanhGradient,
  kReluGradient,
  kElu,
  kSigmoid,
  kEluGradient,
  kSigmoidGradient,
};

/// C = epilogue(A B + bias), or epilogue(C + A B + bias) when `accumulate`. C [rows][columns], B
/// [depth][columns] and `output` [rows][columns] have contiguous rows; A [rows][depth] has any
/// strides, so that A may be a transposed view. Strides are in floats. C must not overlap A or B.
struct GemmCall {
  int rows = 0, columns = 0, depth = 0;
  const float* a = nullptr;
  std::ptrdiff_t a_row_stride = 0, a_column_stride = 1;
  const float* b = nullptr;
  std::ptrdiff_t b_row_stride = 0;
  /// Instead of b: [columns][depth], contiguous. For few columns, packed once (a head, one row at a
  /// time).
  const float* b_transposed = nullptr;
  float* c = nullptr;
  std::ptrdiff_t c_row_stride = 0;
  const float* bias = nullptr;  ///< [columns] or none
  bool accumulate = false;
  Epilogue epilogue = Epilogue::kNone;
  const float* output = nullptr;  ///< the gradient epilogues only
  std::ptrdiff_t output_row_stride = 0;
};

struct DenseKernels {
  static const DenseKernels kPlain, kAvx2, kAvx512;

  KernelSet set;
  int lanes;          ///< floats in one vector
  int panel_columns;  ///< columns of B that gemm takes at once (packed_weight.h)

  /// Takes up to 100 KB of stack, for the large products of a learner.
  void (*gemm)(const GemmCall& call);
  /// sums[j] += sum over rows of values[row][j] (a bias's gradient).
  void (*add_column_sums)(int rows, int columns, const float* values, std::ptrdiff_t row_stride,
                          float* sums);
  /// to[j][i] = from[i][j]; both contiguous, from [rows][columns].
  void (*transpose)(int rows, int columns, const float* from, float* to);
  /// y = clamp((x - mean) * scale, -10, 10) for each row of `columns` numbers.
  void (*normalize)(int rows, int columns, const float* x, const float* mean, const float* scale,
                    float* y);
};

}  // namespace murmurate
