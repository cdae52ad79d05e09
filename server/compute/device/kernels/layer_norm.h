#pragma once

#include "server/compute/device/calls/column_sums.h"
#include "server/compute/device/calls/layer_norm.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/walk.h"

namespace murmurate {

/// The row that the thread's warp takes, and the columns that the thread does: from `begin` in steps
/// of a warp.
struct NormPlace {
  std::size_t row;
  int begin, end;
};
MURMURATE_DEVICE NormPlace NormPlaceOf(std::size_t rows, int columns) {
  const std::size_t row = static_cast<std::size_t>(Block()) * kNormRows + Thread() / kWarp;
  return {row, static_cast<int>(Thread() % kWarp), row < rows ? columns : 0};
}

template <typename T>
MURMURATE_DEVICE void NormRowsOf(const NormRowsCall& call, double* sum_parts,
                                 double* square_parts) {
  const auto [row, begin, end] = NormPlaceOf(call.rows, call.columns);
  const T* const x = static_cast<const T*>(call.x) + row * call.columns;
  double sum = 0, squares = 0;
  for (int j = begin; j < end; j += kWarp) sum += Widened(x[j]);
  const float mean = static_cast<float>(SumOverWarp(sum, sum_parts) / call.columns);
  for (int j = begin; j < end; j += kWarp)
    squares += (Widened(x[j]) - mean) * (Widened(x[j]) - mean);
  const double variance = SumOverWarp(squares, square_parts) / call.columns;
  const float scale = 1.0f / sqrtf(static_cast<float>(variance) + 1e-5f);
  T* const y = static_cast<T*>(call.y) + row * call.columns;
  for (int j = begin; j < end; j += kWarp)
    y[j] = Narrowed<T>((Widened(x[j]) - mean) * scale * call.gain[j] + call.shift[j]);
  if (row >= call.rows || begin != 0) return;
  call.kept[2 * row] = mean;
  call.kept[2 * row + 1] = scale;
}

MURMURATE_KERNEL(NormRows) {
  MURMURATE_SHARED(double, sum_parts, kNormRows);
  MURMURATE_SHARED(double, square_parts, kNormRows);
  WithElements(call.type,
               [&](auto element) { NormRowsOf<decltype(element)>(call, sum_parts, square_parts); });
}

/// The thread's parts of a column's two sums.
struct NormSums {
  double gain, shift;
};
template <typename T>
MURMURATE_DEVICE NormSums OwnNormSums(const NormRowsSumsCall& call, int column) {
  const std::size_t begin = GridRow() * call.rows_a_part;
  const std::size_t end =
      begin + call.rows_a_part < call.rows ? begin + call.rows_a_part : call.rows;
  NormSums sums = {0, 0};
  for (std::size_t row = begin + Thread() / kWarp; row < end && column < call.columns;
       row += Threads() / kWarp) {
    const std::size_t at = row * call.columns + column;
    const float dy = Widened(static_cast<const T*>(call.dy)[at]);
    const float x = Widened(static_cast<const T*>(call.x)[at]);
    sums.gain += dy * ((x - call.kept[2 * row]) * call.kept[2 * row + 1]);
    sums.shift += dy;
  }
  return sums;
}

MURMURATE_KERNEL(NormRowsSums) {
  MURMURATE_SHARED(double, gain_parts, kSumThreads);
  MURMURATE_SHARED(double, shift_parts, kSumThreads);
  const int column = static_cast<int>(Block() * kWarp + Thread() % kWarp);
  const NormSums own = call.type == ElementType::kBf16 ? OwnNormSums<Bf16>(call, column)
                                                       : OwnNormSums<float>(call, column);
  const double gain = SumOverWarps(own.gain, gain_parts);
  const double shift = SumOverWarps(own.shift, shift_parts);
  if (Thread() >= kWarp || column >= call.columns) return;
  double* const to =
      call.partials + static_cast<std::size_t>(GridRow()) * 2 * call.columns + column;
  to[0] = gain;
  to[call.columns] = shift;
}

/// dx = scale (e - mean(e) - d mean(e d)), e = gain dy, d the normalized x.
template <typename T>
MURMURATE_DEVICE void NormRowsGradientOf(const NormRowsGradientCall& call, double* sum_parts,
                                         double* product_parts) {
  const auto [row, begin, end] = NormPlaceOf(call.rows, call.columns);
  const T* const x = static_cast<const T*>(call.x) + row * call.columns;
  T* const dy = static_cast<T*>(call.dy) + row * call.columns;
  const float mean = row < call.rows ? call.kept[2 * row] : 0.0f;
  const float scale = row < call.rows ? call.kept[2 * row + 1] : 0.0f;
  double sum = 0, product = 0;
  for (int j = begin; j < end; j += kWarp) {
    const float e = Widened(dy[j]) * call.gain[j];
    sum += e;
    product += e * ((Widened(x[j]) - mean) * scale);
  }
  const float mean_e = static_cast<float>(SumOverWarp(sum, sum_parts) / call.columns);
  const float mean_ed = static_cast<float>(SumOverWarp(product, product_parts) / call.columns);
  for (int j = begin; j < end; j += kWarp)
    dy[j] = Narrowed<T>(scale * (Widened(dy[j]) * call.gain[j] - mean_e -
                                 (Widened(x[j]) - mean) * scale * mean_ed));
}

MURMURATE_KERNEL(NormRowsGradient) {
  MURMURATE_SHARED(double, sum_parts, kNormRows);
  MURMURATE_SHARED(double, product_parts, kNormRows);
  WithElements(call.type, [&](auto element) {
    NormRowsGradientOf<decltype(element)>(call, sum_parts, product_parts);
  });
}

}  // namespace murmurate
