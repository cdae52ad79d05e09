#include "server/device/device_sums.h"

#include <algorithm>

namespace murmurate {

Grid GridOver(std::size_t numbers) {
  constexpr std::size_t kMostThreads = 1u << 19;
  return Grid::For(std::min(numbers, kMostThreads));
}

Grid SumsGrid(std::size_t rows, int columns) {
  return {.blocks = ColumnBlocks(columns),
          .rows = static_cast<std::uint32_t>(SumParts(rows, columns)),
          .threads = kSumThreads};
}

void SumColumns(const DevicePass& pass, const DeviceRoom& room, const SummedRows& rows, float* to) {
  const std::size_t stride = rows.stride != 0 ? rows.stride : rows.columns;
  pass.device->Launch(pass.stream, SumsGrid(rows.rows, rows.columns),
                      ColumnSumsCall{.dy = rows.dy,
                                     .stride = stride,
                                     .y = rows.y,
                                     .partials = room.partials(),
                                     .rows = rows.rows,
                                     .rows_a_part = RowsASumPart(rows.rows, rows.columns),
                                     .columns = rows.columns,
                                     .activation = rows.activation,
                                     .type = rows.type});
  FinishColumns(pass, room.partials(), rows.columns, rows.rows, rows.columns, to);
}

void FinishColumns(const DevicePass& pass, const double* partials, std::size_t stride,
                   std::size_t rows, int columns, float* to) {
  pass.device->Launch(pass.stream, Grid{.blocks = ColumnBlocks(columns), .threads = kSumThreads},
                      FinishSumsCall{.partials = partials,
                                     .stride = stride,
                                     .parts = SumParts(rows, columns),
                                     .columns = columns,
                                     .to = to});
}

}  // namespace murmurate
