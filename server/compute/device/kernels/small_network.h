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

/// A tile lies column by column: FourFloats 4 c + g has rows 4 g to 4 g + 3 of column c. Columns up
/// to the next multiple of 4 are zeros.
constexpr int kSmallTileFours = kSmallMostWidth * kSmallRows / 4;

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

/// The four numbers from p on, zeros from the `left`th on; kWhole: all four are there, on a border
/// of 16 bytes.
template <bool kWhole>
MURMURATE_DEVICE FourFloats FourAt(const float* p, int left) {
  if constexpr (kWhole) {
    return *reinterpret_cast<const FourFloats*>(p);
  } else {
    FourFloats four;
    for (int i = 0; i < 4; ++i) four.v[i] = i < left ? p[i] : 0.0f;
    return four;
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

/// sums += tile W for the thread's columns of W [in][out].
template <bool kWhole>
MURMURATE_DEVICE void AddSmallProduct(const float* weight, int in, int out, const SmallPlace& at,
                                      const FourFloats* tile, SmallSums* sums) {
  for (int k = 0; k < in; ++k) {
    const FourFloats x = tile[4 * k + at.group];
    const FourFloats w =
        FourAt<kWhole>(weight + static_cast<std::size_t>(k) * out + at.column, out - at.column);
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j) sums->v[i][j] += x.v[i] * w.v[j];
  }
}

/// sums += tile W^T for the thread's rows of W [in][out].
template <bool kWhole>
MURMURATE_DEVICE void AddSmallTransposed(const float* weight, int in, int out, const SmallPlace& at,
                                         const FourFloats* tile, SmallSums* sums) {
  for (int k = 0; k < out; k += 4) {
    FourFloats x[4];
    for (int i = 0; i < 4; ++i) x[i] = tile[4 * (k + i) + at.group];
    for (int j = 0; j < 4; ++j) {
      if (at.column + j >= in) break;
      const FourFloats w =
          FourAt<kWhole>(weight + static_cast<std::size_t>(at.column + j) * out + k, out - k);
      for (int l = 0; l < 4; ++l)
        for (int i = 0; i < 4; ++i) sums->v[i][j] += x[l].v[i] * w.v[l];
    }
  }
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

MURMURATE_DEVICE void SmallLayerForward(const SmallForwardCall& call, const SmallLayer& layer,
                                        const SmallPlace& at, const FourFloats* tile,
                                        SmallSums* sums) {
  const float* const weight = call.parameters + layer.weight;
  if (layer.out % 4 == 0)
    AddSmallProduct<true>(weight, layer.in, layer.out, at, tile, sums);
  else
    AddSmallProduct<false>(weight, layer.in, layer.out, at, tile, sums);
  const float* const bias = call.parameters + layer.bias;
  for (int j = 0; j < 4; ++j) {
    if (at.column + j >= layer.out) break;
    for (int i = 0; i < 4; ++i)
      sums->v[i][j] = Activated(layer.activation, sums->v[i][j] + bias[at.column + j]);
  }
  EachSmallNumber(at, call.rows, layer.out,
                  [&](std::size_t number, int i, int j) { layer.y[number] = sums->v[i][j]; });
}

MURMURATE_KERNEL(SmallForward) {
  MURMURATE_SHARED(FourFloats, tile, kSmallTileFours);
  const SmallTower& tower = call.tower[GridRow()];
  const SmallPlace at = SmallPlaceHere();
  LoadSmallTile(tower.layer[0].x, call.rows, tower.layer[0].in, &tile[0].v[0]);
  for (int i = 0; i < tower.layers; ++i) {
    const SmallLayer& layer = tower.layer[i];
    SmallSums sums = {};
    SyncThreads();  // the tile is there
    if (at.column < layer.out) SmallLayerForward(call, layer, at, tile, &sums);
    if (i >= tower.trunk) continue;
    SyncThreads();  // the tile was read
    if (at.column < layer.out) StoreSmallTile(at, sums, tile);
  }
}

MURMURATE_DEVICE void SmallLayerBack(const SmallBackwardCall& call, const SmallLayer& layer,
                                     const SmallPlace& at, const FourFloats* tile,
                                     SmallSums* sums) {
  const float* const weight = call.parameters + layer.weight;
  if (layer.out % 4 == 0)
    AddSmallTransposed<true>(weight, layer.in, layer.out, at, tile, sums);
  else
    AddSmallTransposed<false>(weight, layer.in, layer.out, at, tile, sums);
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

MURMURATE_KERNEL(SmallBackward) {
  MURMURATE_SHARED(FourFloats, tile, kSmallTileFours);
  const SmallTower& tower = call.tower[GridRow()];
  const SmallPlace at = SmallPlaceHere();
  if (tower.trunk == 0) return;
  SmallSums sums = {};
  for (int i = tower.trunk; i < tower.layers; ++i) {
    LoadSmallTile(tower.layer[i].dz, call.rows, tower.layer[i].out, &tile[0].v[0]);
    SyncThreads();  // the tile is there
    if (at.column < tower.layer[i].in) SmallLayerBack(call, tower.layer[i], at, tile, &sums);
    SyncThreads();  // the tile was read
  }
  for (int i = tower.trunk - 1; i >= 0; --i) {
    const SmallLayer& layer = tower.layer[i];
    if (at.column < layer.out) SmallSlopes(call, layer, at, &sums, tile);
    if (i == 0) return;
    SyncThreads();  // the tile is there
    sums = {};
    if (at.column < layer.in) SmallLayerBack(call, layer, at, tile, &sums);
    SyncThreads();  // the tile was read
  }
}

/// 16 rows of 64 columns of [rows][columns] into the block's memory, zeros where there are none.
MURMURATE_DEVICE void LoadWeightRows(const float* x, std::size_t row, std::size_t end, int column,
                                     int columns, float* to) {
  for (int i = static_cast<int>(Thread()); i < kSmallRows * kSmallWeightTile; i += Threads()) {
    const std::size_t r = row + i / kSmallWeightTile;
    const int c = column + i % kSmallWeightTile;
    to[i] = r < end && c < columns ? x[r * columns + c] : 0.0f;
  }
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
  float bias = 0;
  for (std::size_t row = begin; row < end; row += kSmallRows) {
    SyncThreads();  // the rows before were read
    LoadWeightRows(layer.x, row, end, first_in, layer.in, &xs[0].v[0]);
    LoadWeightRows(layer.dz, row, end, first_out, layer.out, &ds[0].v[0]);
    SyncThreads();
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
