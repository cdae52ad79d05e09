// Sums over the rows of a matrix, column by column, in two stages: ColumnSums sums runs of rows,
// FinishSums sums those. The order depends on rows and columns alone. A block of 256 threads takes
// 32 columns: Grid{.blocks = ColumnBlocks(columns), .rows = parts, .threads = kSumThreads}.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

inline constexpr int kSumThreads = 256;

constexpr std::uint32_t ColumnBlocks(int columns) {
  return static_cast<std::uint32_t>((columns + 31) / 32);
}
/// The first stage has so many parts at most: about 1024 blocks.
constexpr std::size_t SumPartsLimit(int columns) {
  return ColumnBlocks(columns) > 32 ? 32 : 1024 / ColumnBlocks(columns);
}
/// Rows that one block of the first stage sums, 64 or more.
constexpr std::size_t RowsASumPart(std::size_t rows, int columns) {
  const std::size_t each = (rows + SumPartsLimit(columns) - 1) / SumPartsLimit(columns);
  return each > 64 ? each : 64;
}
constexpr std::size_t SumParts(std::size_t rows, int columns) {
  return (rows + RowsASumPart(rows, columns) - 1) / RowsASumPart(rows, columns);
}
/// Of so many rows or fewer.
constexpr std::size_t MostSumParts(std::size_t rows, int columns) {
  const std::size_t parts = (rows + 63) / 64;
  return parts < SumPartsLimit(columns) ? parts : SumPartsLimit(columns);
}

/// partials[part][column] <- the sum of the part's rows of dy. With an activation dy becomes the
/// gradient before it at first: dy <- dy activation'(...), which follows from its output y.
struct ColumnSumsCall {
  static constexpr KernelId kKernel = KernelId::kColumnSums;
  void* dy;            ///< [rows][columns]
  std::size_t stride;  ///< numbers from one row of dy to the next; with an activation: columns
  const void* y;       ///< [rows][columns]; null without activation
  double* partials;    ///< [parts][columns]
  std::size_t rows, rows_a_part;
  int columns;
  DeviceActivation activation;
  ElementType type = ElementType::kFloat32;  ///< of dy and y
};

/// to[column] <- the sum over partials[part][column]. One block row.
struct FinishSumsCall {
  static constexpr KernelId kKernel = KernelId::kFinishSums;
  const double* partials;
  std::size_t stride;  ///< numbers from one part to the next
  std::size_t parts;
  int columns;
  float* to;
};

}  // namespace murmurate
