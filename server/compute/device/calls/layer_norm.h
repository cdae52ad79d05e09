// The calls of shared/compute/layer_norm.h's layer and its gradient.
#pragma once

#include <cstddef>

#include "server/compute/device/calls/elements.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

inline constexpr unsigned kNormThreads = 128;  ///< a warp takes a row
inline constexpr unsigned kNormRows = kNormThreads / 32;

/// y <- (x - mean) / sqrt(variance + 1e-5) gain + shift over the columns of each row.
struct NormRowsCall {
  static constexpr KernelId kKernel = KernelId::kNormRows;
  const void* x;
  const float* gain;
  const float* shift;
  void* y;
  float* kept;  ///< [rows][2]: mean, 1 / sqrt(variance + 1e-5)
  std::size_t rows;
  int columns;
  ElementType type = ElementType::kFloat32;  ///< of x, y and dy
};

/// The first stage of column_sums.h for both parameters: partials[part][0 .. columns) of dy times
/// the normalized x, partials[part][columns .. 2 columns) of dy. Its grid is that of ColumnSums.
struct NormRowsSumsCall {
  static constexpr KernelId kKernel = KernelId::kNormRowsSums;
  const void* x;
  const float* kept;
  const void* dy;
  double* partials;
  std::size_t rows, rows_a_part;
  int columns;
  ElementType type = ElementType::kFloat32;  ///< of x, y and dy
};

/// dy <- the gradient of x. Its grid is that of NormRows.
struct NormRowsGradientCall {
  static constexpr KernelId kKernel = KernelId::kNormRowsGradient;
  const void* x;
  const float* gain;
  const float* kept;
  void* dy;
  std::size_t rows;
  int columns;
  ElementType type = ElementType::kFloat32;  ///< of x, y and dy
};

}  // namespace murmurate
