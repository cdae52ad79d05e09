// Sums over rows that a device takes, in two stages (calls/column_sums.h), and grids of kernels.
#pragma once

#include <cstddef>

#include "server/compute/device/calls/column_sums.h"
#include "server/device/device_layer.h"

namespace murmurate {

/// For kernels that take any number of threads.
Grid GridOver(std::size_t numbers);
Grid SumsGrid(std::size_t rows, int columns);

/// A matrix whose rows are summed: ColumnSumsCall without its partials.
struct SummedRows {
  void* dy = nullptr;  ///< [rows][columns]
  std::size_t rows = 0;
  int columns = 0;
  std::size_t stride = 0;  ///< 0: columns
  const void* y = nullptr;
  DeviceActivation activation = DeviceActivation::kNone;
  ElementType type = ElementType::kFloat32;
};
/// to[column] <- the sum; dy becomes the gradient before the activation.
void SumColumns(const DevicePass& pass, const DeviceRoom& room, const SummedRows& rows, float* to);

/// The second stage, of `columns` of partials [SumParts(rows, columns)][stride].
void FinishColumns(const DevicePass& pass, const double* partials, std::size_t stride,
                   std::size_t rows, int columns, float* to);

}  // namespace murmurate
