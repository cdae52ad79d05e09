// The one source of the dense kernels, compiled after vector_SET.h for each set (kernel_set.h).
// Nothing but the table is visible outside, and nothing of the standard library is used, so that no
// function compiled for one processor can stand in for another's.
#pragma once

#include "shared/compute/dense_kernels.h"
#include "shared/compute/vector_functions.h"

namespace murmurate {
namespace {

using Stride = std::ptrdiff_t;

/// A second pass over a tile that still lies in the first cache.
template <Epilogue kKind>
void Finish(const GemmCall& call, int row, int rows, int column, int columns) {
  constexpr bool kReadsOutput = IsGradient(kKind);
  for (int i = row; i < row + rows; ++i) {
    float* const c = call.c + i * call.c_row_stride + column;
    const float* const y =
        kReadsOutput ? call.output + i * call.output_row_stride + column : nullptr;
    int j = 0;
    for (; j + kLanes <= columns; j += kLanes)
      Store(c + j, Apply<kKind>(Load(c + j), kReadsOutput ? Load(y + j) : Splat(0.0f)));
    if (j == columns) continue;
    const Mask part = FirstLanes(columns - j);
    const Vector last = kReadsOutput ? LoadPart(y + j, part) : Splat(0.0f);
    StorePart(c + j, part, Apply<kKind>(LoadPart(c + j, part), last));
  }
}

void FinishTile(const GemmCall& call, int row, int rows, int column, int columns) {
  switch (call.epilogue) {
    case Epilogue::kNone:
      return;
    case Epilogue::kTanh:
      return Finish<Epilogue::kTanh>(call, row, rows, column, columns);
    case Epilogue::kRelu:
      return Finish<Epilogue::kRelu>(call, row, rows, column, columns);
    case Epilogue::kElu:
      return Finish<Epilogue::kElu>(call, row, rows, column, columns);
    case Epilogue::kSigmoid:
      return Finish<Epilogue::kSigmoid>(call, row, rows, column, columns);
    case Epilogue::kTanhGradient:
      return Finish<Epilogue::kTanhGradient>(call, row, rows, column, columns);
    case Epilogue::kReluGradient:
      return Finish<Epilogue::kReluGradient>(call, row, rows, column, columns);
    case Epilogue::kEluGradient:
      return Finish<Epilogue::kEluGradient>(call, row, rows, column, columns);
    case Epilogue::kSigmoidGradient:
      return Finish<Epilogue::kSigmoidGradient>(call, row, rows, column, columns);
  }
}

template <bool kPart>
inline Vector LoadColumns(const float* p, bool last, Mask part) {
  return kPart && last ? LoadPart(p, part) : Load(p);
}

/// Full tiles of the commonest layers are finished in their registers (of a forward pass 2.5 % by
/// tanh, of an update of 256-256 by relu 4 %); all others by FinishTile, for a quarter of the code.
constexpr bool IsFull(int rows, int columns) {
  return rows == kTileRows && columns == kTileVectors * kLanes;
}

inline bool FinishedInTile(Epilogue epilogue) {
  return epilogue == Epilogue::kTanh || epilogue == Epilogue::kTanhGradient ||
         epilogue == Epilogue::kRelu || epilogue == Epilogue::kReluGradient;
}

/// A tile's share of a row of B. B's rows lie apart, so the processor does not guess the next one;
/// 5 % of a training step with 512 units.
inline void Prefetch(const float* b) {
#pragma GCC unroll 8
  for (int v = 0; v < kTileVectors; ++v) __builtin_prefetch(b + v * kLanes);
}

/// sum[r][v] += a[r] b[v] for one step of the depth.
template <bool kPart, int kRows, int kVectors>
[[gnu::always_inline]] inline void AddOuterProduct(const float* a, Stride a_row, const float* b,
                                                   Mask part, Vector (&sum)[kRows][kVectors]) {
  Vector x[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v)
    x[v] = LoadColumns<kPart>(b + v * kLanes, v == kVectors - 1, part);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    const Vector factor = Splat(a[r * a_row]);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[r][v] = MulAdd(factor, x[v], sum[r][v]);
  }
}

template <Epilogue kKind, bool kPart, int kRows, int kVectors>
[[gnu::always_inline]] inline void StoreAs(const GemmCall& call, int row, int column, Mask part,
                                           Vector (&sum)[kRows][kVectors]) {
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) {
    float* const c = call.c + (row + r) * call.c_row_stride + column;
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const bool last = v == kVectors - 1;
      Vector x = sum[r][v];
      if (call.bias) x = x + LoadColumns<kPart>(call.bias + column + v * kLanes, last, part);
      if (call.accumulate) x = x + LoadColumns<kPart>(c + v * kLanes, last, part);
      if constexpr (IsGradient(kKind))
        x = Apply<kKind>(
            x, Load(call.output + (row + r) * call.output_row_stride + column + v * kLanes));
      else if constexpr (kKind != Epilogue::kNone)
        x = Apply<kKind>(x, Splat(0.0f));
      if (kPart && last)
        StorePart(c + v * kLanes, part, x);
      else
        Store(c + v * kLanes, x);
    }
  }
}

template <bool kPart, int kRows, int kVectors>
[[gnu::always_inline]] inline void StoreTile(const GemmCall& call, int row, int column, Mask part,
                                             Vector (&sum)[kRows][kVectors]) {
  if constexpr (!kPart && IsFull(kRows, kVectors * kLanes)) {
    switch (call.epilogue) {
      case Epilogue::kTanh:
        return StoreAs<Epilogue::kTanh, false>(call, row, column, part, sum);
      case Epilogue::kRelu:
        return StoreAs<Epilogue::kRelu, false>(call, row, column, part, sum);
      case Epilogue::kTanhGradient:
        return StoreAs<Epilogue::kTanhGradient, false>(call, row, column, part, sum);
      case Epilogue::kReluGradient:
        return StoreAs<Epilogue::kReluGradient, false>(call, row, column, part, sum);
      default:
        break;  // by FinishTile
    }
  }
  StoreAs<Epilogue::kNone, kPart>(call, row, column, part, sum);
}

/// kRows x kVectors sums in registers over the whole depth; kSplit > 1 takes several steps of the
/// depth at once into sums of their own, so that a small tile still fills the adders' pipeline.
/// With kPart, only the lanes of `part` exist in the last vector.
template <int kRows, int kVectors, bool kPart>
void Tile(const GemmCall& call, int row, int column, Mask part) {
  constexpr int kSplit = kRows * kVectors >= 6 ? 1 : kRows * kVectors >= 3 ? 2 : 4;
  Vector sum[kSplit][kRows][kVectors];
  for (auto& split : sum)
    for (auto& line : split)
      for (Vector& x : line) x = Splat(0.0f);
  const float* a = call.a + row * call.a_row_stride;
  const float* b = call.b + column;
  const Stride a_row = call.a_row_stride;
  if (call.accumulate)  // C will be there when the sums are
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v)
        __builtin_prefetch(call.c + (row + r) * call.c_row_stride + column + v * kLanes, 1);
  int k = 0;
  for (; k + kSplit <= call.depth; k += kSplit) {
#pragma GCC unroll 8
    for (int s = 0; s < kSplit; ++s, a += call.a_column_stride, b += call.b_row_stride) {
      if constexpr (IsFull(kRows, kVectors * kLanes)) Prefetch(b + 8 * call.b_row_stride);
      AddOuterProduct<kPart>(a, a_row, b, part, sum[s]);
    }
  }
  for (; k < call.depth; ++k, a += call.a_column_stride, b += call.b_row_stride)
    AddOuterProduct<kPart>(a, a_row, b, part, sum[0]);
#pragma GCC unroll 8
  for (int s = 1; s < kSplit; ++s)
    for (int r = 0; r < kRows; ++r)
      for (int v = 0; v < kVectors; ++v) sum[0][r][v] = sum[0][r][v] + sum[s][r][v];
  StoreTile<kPart>(call, row, column, part, sum[0]);
}

using TileFunction = void (*)(const GemmCall&, int, int, Mask);

struct TileTable {
  TileFunction entry[kTileRows][kTileVectors][2];

  template <int kRows, int kVectors>
  constexpr void Fill() {
    entry[kRows - 1][kVectors - 1][0] = Tile<kRows, kVectors, false>;
    entry[kRows - 1][kVectors - 1][1] = Tile<kRows, kVectors, true>;
    if constexpr (kVectors > 1)
      Fill<kRows, kVectors - 1>();
    else if constexpr (kRows > 1)
      Fill<kRows - 1, kTileVectors>();
  }
  constexpr TileTable() : entry{} { Fill<kTileRows, kTileVectors>(); }
};

constexpr TileTable kTiles;

constexpr int kPanel = kTileVectors * kLanes;

inline void RunTile(const GemmCall& call, int row, int rows, int column, int columns) {
  const int vectors = (columns + kLanes - 1) / kLanes, rest = columns % kLanes;
  kTiles.entry[rows - 1][vectors - 1][rest != 0](call, row, column, FirstLanes(rest));
  if (!IsFull(rows, columns) || !FinishedInTile(call.epilogue))
    FinishTile(call, row, rows, column, columns);
}

inline int Least(int a, int b) { return a < b ? a : b; }

void WideGemm(const GemmCall& call) {
  for (int column = 0; column < call.columns; column += kPanel)
    for (int row = 0; row < call.rows; row += kTileRows)
      RunTile(call, row, Least(call.rows - row, kTileRows), column,
              Least(call.columns - column, kPanel));
}

/// Rows and depth of a large A in hand at once: they stay in the second cache while all of B's
/// columns pass. A transposed A is turned first, half as many rows.
constexpr int kBlockRows = 192, kTransposedRows = 96, kBlockDepth = 256;

/// A block of a transposed A in the order the tiles read it, [tile][depth][kTileRows]: read row by
/// row, it costs a page for every step of the depth.
void TransposeRowsOfA(const GemmCall& call, float* turned) {
  for (int k = 0; k < call.depth; ++k) {
    const float* const from = call.a + k * call.a_column_stride;
    float* to = turned + Stride{k} * kTileRows;
    int row = 0;
    for (; row + kTileRows <= call.rows; row += kTileRows, to += Stride{call.depth} * kTileRows)
      for (int r = 0; r < kTileRows; ++r) to[r] = from[row + r];
    for (int r = 0; row + r < call.rows; ++r) to[r] = from[row + r];
  }
}

void TransposedTiles(const GemmCall& call, const float* turned) {
  GemmCall tile = call;
  tile.a_row_stride = 1;
  tile.a_column_stride = kTileRows;
  for (int column = 0; column < call.columns; column += kPanel)
    for (int row = 0; row < call.rows; row += kTileRows) {
      tile.a = turned + Stride{row} * call.depth;
      tile.c = call.c + row * call.c_row_stride;
      if (call.output != nullptr) tile.output = call.output + row * call.output_row_stride;
      RunTile(tile, 0, Least(call.rows - row, kTileRows), column,
              Least(call.columns - column, kPanel));
    }
}

void BlockedGemm(const GemmCall& call) {
  alignas(64) float turned[kTransposedRows * kBlockDepth];
  const bool straight = call.a_column_stride == 1;
  const int rows = straight ? kBlockRows : kTransposedRows;
  const int blocks = (call.depth + kBlockDepth - 1) / kBlockDepth;
  const int depth = (call.depth + blocks - 1) / blocks;
  for (int k = 0; k < call.depth; k += depth)
    for (int row = 0; row < call.rows; row += rows) {
      GemmCall block = call;
      block.rows = Least(call.rows - row, rows);
      block.depth = Least(call.depth - k, depth);
      block.a += row * call.a_row_stride + k * call.a_column_stride;
      block.b += k * call.b_row_stride;
      block.c += row * call.c_row_stride;
      if (call.output != nullptr) block.output += row * call.output_row_stride;
      if (k > 0) block.bias = nullptr, block.accumulate = true;
      if (k + block.depth < call.depth) block.epilogue = Epilogue::kNone;
      if (straight) {
        WideGemm(block);
      } else {
        TransposeRowsOfA(block, turned);
        TransposedTiles(block, turned);
      }
    }
}

/// True for products that blocks make faster when the caches hold other data at first: a deep
/// product (256x512x3136 goes from 0.50 to 0.90 of the peak), and the weight gradient of many
/// inputs.
inline bool IsLarge(const GemmCall& call) {
  if (call.columns < 4 * kPanel) return false;
  if (call.a_column_stride == 1)
    return call.rows >= kTransposedRows && call.depth > 2 * kBlockDepth;
  return call.a_row_stride == 1 && call.rows >= 768 && call.depth >= 64;
}

constexpr int kNarrow = 4, kNarrowDepth = 512;

/// Few columns and contiguous rows of A (a head going forward): each element of C is one dot
/// product along the depth, so that no lane is idle. `b` is transposed: [columns][depth] with
/// `b_stride`.
template <int kRows>
void DotRows(const GemmCall& call, int row, const float* b, Stride b_stride) {
  for (int column = 0; column < call.columns; ++column) {
    const float* const x = b + column * b_stride;
    const float* const a = call.a + row * call.a_row_stride;
    Vector sum[kRows];
    for (Vector& s : sum) s = Splat(0.0f);
    int k = 0;
    for (; k + kLanes <= call.depth; k += kLanes)
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r)
        sum[r] = MulAdd(Load(a + r * call.a_row_stride + k), Load(x + k), sum[r]);
    if (k < call.depth) {
      const Mask part = FirstLanes(call.depth - k);
      const Vector last = LoadPart(x + k, part);
      for (int r = 0; r < kRows; ++r)
        sum[r] = MulAdd(LoadPart(a + r * call.a_row_stride + k, part), last, sum[r]);
    }
    float total[kRows];
    if constexpr (kRows == 4)
      SumEach(sum, total);
    else
      total[0] = Sum(sum[0]);
    for (int r = 0; r < kRows; ++r) {
      float* const c = call.c + (row + r) * call.c_row_stride + column;
      const float base = (call.bias ? call.bias[column] : 0.0f) + (call.accumulate ? *c : 0.0f);
      *c = base + total[r];
    }
  }
}

void DotGemm(const GemmCall& call, const float* b, Stride b_stride) {
  int row = 0;
  for (; row + 4 <= call.rows; row += 4) DotRows<4>(call, row, b, b_stride);
  for (; row < call.rows; ++row) DotRows<1>(call, row, b, b_stride);
  FinishTile(call, 0, call.rows, 0, call.columns);
}

/// Few columns and A a transposed view (a head's weight gradient): C^T = B^T A^T has long rows.
void SwappedGemm(const GemmCall& call) {
  constexpr int kRows = 256;
  float turned[kNarrow * kRows];
  for (int row = 0; row < call.rows; row += kRows) {
    const int rows = call.rows - row < kRows ? call.rows - row : kRows;
    GemmCall swapped;
    swapped.rows = call.columns;
    swapped.columns = rows;
    swapped.depth = call.depth;
    swapped.a = call.b;
    swapped.a_row_stride = 1;
    swapped.a_column_stride = call.b_row_stride;
    swapped.b = call.a + row;
    swapped.b_row_stride = call.a_column_stride;
    swapped.c = turned;
    swapped.c_row_stride = rows;
    WideGemm(swapped);
    for (int i = 0; i < rows; ++i) {
      float* const c = call.c + (row + i) * call.c_row_stride;
      for (int j = 0; j < call.columns; ++j) {
        const float base = (call.bias ? call.bias[j] : 0.0f) + (call.accumulate ? c[j] : 0.0f);
        c[j] = base + turned[j * rows + i];
      }
    }
  }
  FinishTile(call, 0, call.rows, 0, call.columns);
}

void RunGemm(const GemmCall& call) {
  if (call.b_transposed != nullptr) return DotGemm(call, call.b_transposed, call.depth);
  if (IsLarge(call)) return BlockedGemm(call);
  if (call.columns > kNarrow || call.depth < kLanes) return WideGemm(call);
  if (call.a_row_stride == 1 && call.rows > call.columns) return SwappedGemm(call);
  if (call.a_column_stride != 1 || call.depth > kNarrowDepth) return WideGemm(call);
  float turned[kNarrow * kNarrowDepth];
  for (int k = 0; k < call.depth; ++k)
    for (int j = 0; j < call.columns; ++j)
      turned[j * call.depth + k] = call.b[k * call.b_row_stride + j];
  DotGemm(call, turned, call.depth);
}

void AddColumnSums(int rows, int columns, const float* values, Stride row_stride, float* sums) {
  int column = 0;
  for (; column + kLanes <= columns; column += kLanes) {
    Vector even = Load(sums + column), odd = Splat(0.0f);
    const float* p = values + column;
    int row = 0;
    for (; row + 2 <= rows; row += 2, p += 2 * row_stride) {
      even = even + Load(p);
      odd = odd + Load(p + row_stride);
    }
    if (row < rows) even = even + Load(p);
    Store(sums + column, even + odd);
  }
  for (; column < columns; ++column) {
    float sum[4] = {};
    for (int row = 0; row < rows; ++row) sum[row % 4] += values[row * row_stride + column];
    sums[column] += (sum[0] + sum[1]) + (sum[2] + sum[3]);
  }
}

void TransposeMatrix(int rows, int columns, const float* from, float* to) {
  const int whole_rows = rows / kBlock * kBlock, whole_columns = columns / kBlock * kBlock;
  for (int i = 0; i < whole_rows; i += kBlock)
    for (int j = 0; j < whole_columns; j += kBlock)
      TransposeBlock(from + Stride{i} * columns + j, columns, to + Stride{j} * rows + i, rows);
  for (int i = 0; i < rows; ++i)
    for (int j = i < whole_rows ? whole_columns : 0; j < columns; ++j)
      to[Stride{j} * rows + i] = from[Stride{i} * columns + j];
}

void Normalize(int rows, int columns, const float* x, const float* mean, const float* scale,
               float* y) {
  const Vector least = Splat(-10.0f), most = Splat(10.0f);
  for (int row = 0; row < rows; ++row, x += columns, y += columns) {
    for (int j = 0; j < columns; j += kLanes) {
      const Mask part = FirstLanes(columns - j < kLanes ? columns - j : kLanes);
      const Vector centred = LoadPart(x + j, part) - LoadPart(mean + j, part);
      StorePart(y + j, part, Max(Min(centred * LoadPart(scale + j, part), most), least));
    }
  }
}

}  // namespace

constinit const DenseKernels DenseKernels::MURMURATE_KERNEL_SET = {KernelSet::MURMURATE_KERNEL_SET,
                                                                   kLanes,
                                                                   kTileVectors* kLanes,
                                                                   RunGemm,
                                                                   AddColumnSums,
                                                                   TransposeMatrix,
                                                                   Normalize};

}  // namespace murmurate
