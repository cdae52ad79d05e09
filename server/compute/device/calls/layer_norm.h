// The calls of shared/compute/layer_norm.h's layer and its gradient.
#pragma once

#include <cstddef>

#include "server/compute/device/kernel_list.h"

namespace murmurate {

inline constexpr unsigned kNormThreads = 128;  ///< a warp takes a row
inline constexpr unsigned kNormRows = kNormThreads / 32;

/// y <- (x - mean) / sqrt(variance + 1e-5) gain + shift over the columns of each row.
struct NormRowsCall {
  static constexpr KernelId kKernel = KernelId::kNormRows;
  const float* x;
  const float* gain;
  const float* shift;
  float* y;
  float* kept;  ///< [rows][2]: mean, 1 / sqrt(variance + 1e-5)
  std::size_t rows;
  int columns;
};

/// The first stage of column_sums.h for both parameters: partials[part][0 .. columns) of dy times
/// the normalized x, partials[part][columns .. 2 columns) of dy. Its grid is that of ColumnSums.
struct NormRowsSumsCall {
  static constexpr KernelId kKernel = KernelId::kNormRowsSums;
  const float* x;
  const float* kept;
  const float* dy;
  double* partials;
  std::size_t rows, rows_a_part;
  int columns;
};

/// dy <- the gradient of x. Its grid is that of NormRows.
struct NormRowsGradientCall {
  static constexpr KernelId kKernel = KernelId::kNormRowsGradient;
  const float* x;
  const float* gain;
  const float* kept;
  float* dy;
  std::size_t rows;
  int columns;
};

}  // namespace murmurate
