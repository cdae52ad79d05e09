#pragma once

#include "server/compute/device/calls/small_network.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/layers.h"

namespace murmurate {

/// Four numbers that are loaded at once.
struct alignas(16) FourFloats {
  float v[4];
};
/// Of four rows four columns each.
struct SmallSums {
  float v[4][4];
};

/// What a block has in its memory. A tile lies column by column: FourFloats 4 c + g has rows 4 g to
/// 4 g + 3 of column c. Columns up to the next multiple of 4 are zeros. A stage has rows of as many
/// columns as threads.
struct SmallMemory {
  FourFloats *stage, *tile;
  int stage_rows;
};
MURMURATE_DEVICE SmallMemory SmallMemoryAt(FourFloats* memory, int stage_rows) {
  return {memory, memory + stage_rows * static_cast<int>(Threads() / 4), stage_rows};
}

/// A thread has four rows of the tile and four columns.
struct SmallPlace {
  int group, column;  ///< rows 4 group to 4 group + 3, columns from `column` on
  std::size_t row;    ///< the first of the four among all
};
MURMURATE_DEVICE SmallPlace SmallPlaceHere() {
  const int group = static_cast<int>(Thread() % 4);
  return {group, static_cast<int>(Thread() / 4 * 4),
          static_cast<std::size_t>(Block()) * kSmallRows + 4 * group};
}

/// A matrix [rows][columns] of weights.
struct SmallMatrix {
  const float* weight;
  int rows, columns;
};

/// Four numbers of a row, zeros where there are none.
MURMURATE_DEVICE FourFloats FourAt(const SmallMatrix& matrix, int row, int column) {
  FourFloats four = {};
  if (row >= matrix.rows || column >= matrix.columns) return four;
  const float* const p = matrix.weight + static_cast<std::size_t>(row) * matrix.columns + column;
  if (matrix.columns % 4 == 0) return *reinterpret_cast<const FourFloats*>(p);
  for (int i = 0; i < 4 && column + i < matrix.columns; ++i) four.v[i] = p[i];
  return four;
}

/// Where four columns lie in a row of the stage: moved so that threads that write a column of a
/// transposed matrix, or read a row, meet in no bank of the memory.
MURMURATE_DEVICE int StagePlace(int stage_rows, int row, int four) {
  return row * static_cast<int>(Threads() / 4) + (four ^ (32 / stage_rows * (row / 4)));
}

/// A thread's numbers of a stage, on their way.
struct SmallFetch {
  FourFloats v[4];
};

/// The stage's rows are those of the matrix from `first` on. A thread has one four in each fourth of
/// them.
MURMURATE_DEVICE void FetchRows(const SmallMatrix& matrix, int stage_rows, int first,
                                SmallFetch* to) {
  const int fours = static_cast<int>(Threads() / 4), row = static_cast<int>(Thread()) / fours;
  const int column = 4 * (static_cast<int>(Thread()) % fours);
  for (int i = 0; i < 4; ++i)
    if (4 * i < stage_rows) to->v[i] = FourAt(matrix, first + 4 * i + row, column);
}
MURMURATE_DEVICE void StoreRows(const SmallFetch& from, int stage_rows, FourFloats* stage) {
  const int fours = static_cast<int>(Threads() / 4), row = static_cast<int>(Thread()) / fours;
  const int four = static_cast<int>(Thread()) % fours;
  for (int i = 0; i < 4; ++i)
    if (4 * i < stage_rows) stage[StagePlace(stage_rows, 4 * i + row, four)] = from.v[i];
}

/// The stage's rows are the matrix's columns from `first` on. A thread has four of them, of a row in
/// each part of the matrix's rows.
MURMURATE_DEVICE void FetchColumns(const SmallMatrix& matrix, int stage_rows, int first,
                                   SmallFetch* to) {
  const int fours = stage_rows / 4, each = static_cast<int>(Threads()) / fours;
  const int row = static_cast<int>(Thread()) / fours, four = static_cast<int>(Thread()) % fours;
  for (int i = 0; i < 4; ++i)
    if (i < fours) to->v[i] = FourAt(matrix, i * each + row, first + 4 * four);
}
MURMURATE_DEVICE void StoreColumns(const SmallFetch& from, int stage_rows, FourFloats* stage) {
  const int fours = stage_rows / 4, each = static_cast<int>(Threads()) / fours;
  const int row = static_cast<int>(Thread()) / fours, four = static_cast<int>(Thread()) % fours;
  for (int i = 0; i < 4; ++i) {
    if (i >= fours) break;
    const int column = i * each + row;
    FourFloats* const to = stage + StagePlace(stage_rows, 4 * four, column / 4);
    for (int j = 0; j < 4; ++j) to[j * (Threads() / 4)].v[column % 4] = from.v[i].v[j];
  }
}

/// sums += tile's columns from `first` on x the stage, `rows` of it.
MURMURATE_DEVICE void AddSmallStage(const SmallMemory& memory, int first, int rows,
                                    const SmallPlace& at, SmallSums* sums) {
  const FourFloats* const tile = memory.tile + 4 * first + at.group;
  for (int k = 0; k < rows; k += 4) {
    const FourFloats* const stage = memory.stage + StagePlace(memory.stage_rows, k, at.column / 4);
    for (int l = 0; l < 4; ++l) {
      const FourFloats x = tile[4 * (k + l)], w = stage[l * (Threads() / 4)];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums->v[i][j] += x.v[i] * w.v[j];
    }
  }
}

/// sums += tile x matrix, or with kTransposed tile x its transpose, for the thread's columns. Every
/// thread comes here; the tile may have been written just before.
template <bool kTransposed>
MURMURATE_DEVICE void AddSmallProduct(const SmallMatrix& matrix, const SmallMemory& memory,
                                      const SmallPlace& at, SmallSums* sums) {
  const int depth = kTransposed ? matrix.columns : matrix.rows;
  const int columns = kTransposed ? matrix.rows : matrix.columns;
  const int stage_rows = memory.stage_rows;
  SmallFetch fetch;
  const auto begin = [&](int first) {
    kTransposed ? FetchColumns(matrix, stage_rows, first, &fetch)
                : FetchRows(matrix, stage_rows, first, &fetch);
  };
  begin(0);
  for (int first = 0; first < depth; first += stage_rows) {
    SyncThreads();  // the stage before was read
    kTransposed ? StoreColumns(fetch, stage_rows, memory.stage)
                : StoreRows(fetch, stage_rows, memory.stage);
    SyncThreads();  // stage and tile are there
    if (first + stage_rows < depth) begin(first + stage_rows);
    const int rows = depth - first < stage_rows ? depth - first : stage_rows;
    if (at.column < columns) AddSmallStage(memory, first, rows, at, sums);
  }
}

MURMURATE_DEVICE void LoadSmallTile(const float* x, std::size_t rows, int columns, float* tile) {
  const std::size_t first = static_cast<std::size_t>(Block()) * kSmallRows;
  const int padded = (columns + 3) / 4 * 4;
  for (int i = static_cast<int>(Thread()); i < padded * kSmallRows; i += Threads()) {
    const int row = i / padded, column = i % padded;
    const bool there = column < columns && first + row < rows;
    tile[column * kSmallRows + row] = there ? x[(first + row) * columns + column] : 0.0f;
  }
}

MURMURATE_DEVICE void StoreSmallTile(const SmallPlace& at, const SmallSums& sums,
                                     FourFloats* tile) {
  for (int j = 0; j < 4; ++j)
    tile[4 * (at.column + j) + at.group] = {
        {sums.v[0][j], sums.v[1][j], sums.v[2][j], sums.v[3][j]}};
}

/// The thread's numbers of [rows][columns]: to(number, sum's row and column) for those there are.
template <typename To>
MURMURATE_DEVICE void EachSmallNumber(const SmallPlace& at, std::size_t rows, int columns,
                                      const To& to) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (at.row + i < rows && at.column + j < columns)
        to((at.row + i) * columns + at.column + j, i, j);
}

MURMURATE_DEVICE SmallMatrix MatrixOf(const float* parameters, const SmallLayer& layer) {
  return {parameters + layer.weight, layer.in, layer.out};
}

/// The sums of a layer's products -> what it gives, into the device's memory as well.
MURMURATE_DEVICE void ActivateSmall(const SmallForwardCall& call, const SmallLayer& layer,
                                    const SmallPlace& at, SmallSums* sums) {
  const float* const bias = call.parameters + layer.bias;
  for (int j = 0; j < 4; ++j) {
    if (at.column + j >= layer.out) break;
    for (int i = 0; i < 4; ++i)
      sums->v[i][j] = Activated(layer.activation, sums->v[i][j] + bias[at.column + j]);
  }
  EachSmallNumber(at, call.rows, layer.out,
                  [&](std::size_t number, int i, int j) { layer.y[number] = sums->v[i][j]; });
}

MURMURATE_KERNEL_OF(SmallForward, kSmallMostWidth) {
  MURMURATE_BLOCK_MEMORY(FourFloats, block);
  const SmallMemory memory = SmallMemoryAt(block, call.stage_rows);
  const SmallTower& tower = call.tower[GridRow()];
  const SmallPlace at = SmallPlaceHere();
  LoadSmallTile(tower.layer[0].x, call.rows, tower.layer[0].in, &memory.tile[0].v[0]);
  for (int i = 0; i < tower.layers; ++i) {
    const SmallLayer& layer = tower.layer[i];
    SmallSums sums = {};
    AddSmallProduct<false>(MatrixOf(call.parameters, layer), memory, at, &sums);
    if (at.column < layer.out) ActivateSmall(call, layer, at, &sums);
    if (i >= tower.trunk) continue;
    SyncThreads();  // the tile was read
    if (at.column < layer.out) StoreSmallTile(at, sums, memory.tile);
  }
}

/// The gradient of a layer's outputs in `sums` -> of what came before its activation: into the
/// device's memory and the tile.
MURMURATE_DEVICE void SmallSlopes(const SmallBackwardCall& call, const SmallLayer& layer,
                                  const SmallPlace& at, SmallSums* sums, FourFloats* tile) {
  EachSmallNumber(at, call.rows, layer.out, [&](std::size_t number, int i, int j) {
    sums->v[i][j] *= ActivationSlope(layer.activation, layer.y[number]);
    layer.dz[number] = sums->v[i][j];
  });
  StoreSmallTile(at, *sums, tile);
}

MURMURATE_KERNEL_OF(SmallBackward, kSmallMostWidth) {
  MURMURATE_BLOCK_MEMORY(FourFloats, block);
  const SmallMemory memory = SmallMemoryAt(block, call.stage_rows);
  const SmallTower& tower = call.tower[GridRow()];
  const SmallPlace at = SmallPlaceHere();
  if (tower.trunk == 0) return;
  SmallSums sums = {};
  for (int i = tower.trunk; i < tower.layers; ++i) {
    const SmallLayer& layer = tower.layer[i];
    LoadSmallTile(layer.dz, call.rows, layer.out, &memory.tile[0].v[0]);
    AddSmallProduct<true>(MatrixOf(call.parameters, layer), memory, at, &sums);
    SyncThreads();  // the tile was read
  }
  for (int i = tower.trunk - 1; i >= 0; --i) {
    const SmallLayer& layer = tower.layer[i];
    if (at.column < layer.out) SmallSlopes(call, layer, at, &sums, memory.tile);
    if (i == 0) return;
    sums = {};
    AddSmallProduct<true>(MatrixOf(call.parameters, layer), memory, at, &sums);
    SyncThreads();  // the tile was read
  }
}

/// A thread's numbers of 16 rows of 64 columns of [rows][columns], on their way to the block's memory;
/// zeros where there are none.
struct SmallWeightRows {
  static constexpr int kEach =
      kSmallRows * kSmallWeightTile / static_cast<int>(kSmallWeightThreads);
  float v[kEach];
};
MURMURATE_DEVICE void FetchWeightRows(const float* x, std::size_t row, std::size_t end, int column,
                                      int columns, SmallWeightRows* to) {
  for (int i = 0; i < SmallWeightRows::kEach; ++i) {
    const int number = static_cast<int>(Thread() + i * kSmallWeightThreads);
    const std::size_t r = row + number / kSmallWeightTile;
    const int c = column + number % kSmallWeightTile;
    to->v[i] = r < end && c < columns ? x[r * columns + c] : 0.0f;
  }
}
MURMURATE_DEVICE void StoreWeightRows(const SmallWeightRows& from, float* to) {
  for (int i = 0; i < SmallWeightRows::kEach; ++i)
    to[Thread() + i * kSmallWeightThreads] = from.v[i];
}

MURMURATE_DEVICE const SmallGradient& LayerOfTile(const SmallGradients& all, std::uint32_t tile) {
  int i = 0;
  while (i + 1 < all.layers && all.layer[i + 1].tile <= tile) ++i;
  return all.layer[i];
}

MURMURATE_KERNEL(SmallWeights) {
  constexpr int kFours = kSmallRows * kSmallWeightTile / 4;
  MURMURATE_SHARED(FourFloats, xs, kFours);
  MURMURATE_SHARED(FourFloats, ds, kFours);
  const SmallGradient& layer = LayerOfTile(call.gradients, Block());
  const int across = (layer.out + kSmallWeightTile - 1) / kSmallWeightTile;
  const int tile = static_cast<int>(Block() - layer.tile);
  const int first_in = tile / across * kSmallWeightTile,
            first_out = tile % across * kSmallWeightTile;
  const int in = static_cast<int>(Thread() / 16), out = static_cast<int>(Thread() % 16);
  const std::size_t begin = GridRow() * call.rows_a_part;
  const std::size_t end =
      begin + call.rows_a_part < call.rows ? begin + call.rows_a_part : call.rows;
  SmallSums sums = {};
  SmallWeightRows next_x, next_d;
  const auto fetch = [&](std::size_t row) {
    FetchWeightRows(layer.x, row, end, first_in, layer.in, &next_x);
    FetchWeightRows(layer.dz, row, end, first_out, layer.out, &next_d);
  };
  fetch(begin);
  float bias = 0;
  for (std::size_t row = begin; row < end; row += kSmallRows) {
    SyncThreads();  // the rows before were read
    StoreWeightRows(next_x, &xs[0].v[0]);
    StoreWeightRows(next_d, &ds[0].v[0]);
    SyncThreads();
    if (row + kSmallRows < end) fetch(row + kSmallRows);
    for (int r = 0; r < kSmallRows; ++r) {
      const FourFloats x = xs[16 * r + in], d = ds[16 * r + out];
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) sums.v[i][j] += x.v[i] * d.v[j];
    }
    if (Thread() < kSmallWeightTile)
      for (int r = 0; r < kSmallRows; ++r) bias += (&ds[0].v[0])[r * kSmallWeightTile + Thread()];
  }
  float* const to = call.gradients.sums + GridRow() * call.gradients.numbers + layer.sums;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      const int k = first_in + 4 * in + i, column = first_out + 4 * out + j;
      if (k < layer.in && column < layer.out)
        to[static_cast<std::size_t>(k) * layer.out + column] = sums.v[i][j];
    }
  const int column = first_out + static_cast<int>(Thread());
  if (first_in == 0 && Thread() < kSmallWeightTile && column < layer.out)
    to[static_cast<std::size_t>(layer.in) * layer.out + column] = bias;
}

MURMURATE_KERNEL(SmallFinish) {
  const SmallGradients& all = call.gradients;
  const std::size_t number = GlobalThread();
  if (number >= all.numbers) return;
  double sum = 0;
  for (std::size_t part = 0; part < all.parts; ++part) sum += all.sums[part * all.numbers + number];
  int i = 0;
  while (i + 1 < all.layers && all.layer[i + 1].sums <= number) ++i;
  const SmallGradient& layer = all.layer[i];
  const std::size_t at = number - layer.sums;
  const std::size_t weights = static_cast<std::size_t>(layer.in) * layer.out;
  call.gradient[at < weights ? layer.weight + at : layer.bias + at - weights] =
      static_cast<float>(sum);
}

}  // namespace murmurate
