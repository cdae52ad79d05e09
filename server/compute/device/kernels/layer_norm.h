#pragma once

#include "server/compute/device/calls/column_sums.h"
#include "server/compute/device/calls/layer_norm.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/walk.h"

namespace murmurate {

MURMURATE_KERNEL(NormRows) {
  MURMURATE_SHARED(double, sum_parts, kNormRows);
  MURMURATE_SHARED(double, square_parts, kNormRows);
  const std::size_t row = static_cast<std::size_t>(Block()) * kNormRows + Thread() / kWarp;
  const int begin = static_cast<int>(Thread() % kWarp);
  const int end = row < call.rows ? call.columns : 0;
  const float* const x = call.x + row * call.columns;
  double sum = 0, squares = 0;
  for (int j = begin; j < end; j += kWarp) sum += x[j];
  const float mean = static_cast<float>(SumOverWarp(sum, sum_parts) / call.columns);
  for (int j = begin; j < end; j += kWarp) squares += (x[j] - mean) * (x[j] - mean);
  const double variance = SumOverWarp(squares, square_parts) / call.columns;
  const float scale = 1.0f / sqrtf(static_cast<float>(variance) + 1e-5f);
  float* const y = call.y + row * call.columns;
  for (int j = begin; j < end; j += kWarp)
    y[j] = (x[j] - mean) * scale * call.gain[j] + call.shift[j];
  if (row >= call.rows || begin != 0) return;
  call.kept[2 * row] = mean;
  call.kept[2 * row + 1] = scale;
}

MURMURATE_KERNEL(NormRowsSums) {
  MURMURATE_SHARED(double, gain_parts, kSumThreads);
  MURMURATE_SHARED(double, shift_parts, kSumThreads);
  const int column = static_cast<int>(Block() * kWarp + Thread() % kWarp);
  const std::size_t begin = GridRow() * call.rows_a_part;
  const std::size_t end =
      begin + call.rows_a_part < call.rows ? begin + call.rows_a_part : call.rows;
  double gain = 0, shift = 0;
  for (std::size_t row = begin + Thread() / kWarp; row < end && column < call.columns;
       row += Threads() / kWarp) {
    const float dy = call.dy[row * call.columns + column];
    gain +=
        dy * ((call.x[row * call.columns + column] - call.kept[2 * row]) * call.kept[2 * row + 1]);
    shift += dy;
  }
  gain = SumOverWarps(gain, gain_parts);
  shift = SumOverWarps(shift, shift_parts);
  if (Thread() >= kWarp || column >= call.columns) return;
  double* const to =
      call.partials + static_cast<std::size_t>(GridRow()) * 2 * call.columns + column;
  to[0] = gain;
  to[call.columns] = shift;
}

/// dx = scale (e - mean(e) - d mean(e d)), e = gain dy, d the normalized x.
MURMURATE_KERNEL(NormRowsGradient) {
  MURMURATE_SHARED(double, sum_parts, kNormRows);
  MURMURATE_SHARED(double, product_parts, kNormRows);
  const std::size_t row = static_cast<std::size_t>(Block()) * kNormRows + Thread() / kWarp;
  const int begin = static_cast<int>(Thread() % kWarp);
  const int end = row < call.rows ? call.columns : 0;
  const float* const x = call.x + row * call.columns;
  float* const dy = call.dy + row * call.columns;
  const float mean = row < call.rows ? call.kept[2 * row] : 0.0f;
  const float scale = row < call.rows ? call.kept[2 * row + 1] : 0.0f;
  double sum = 0, product = 0;
  for (int j = begin; j < end; j += kWarp) {
    const float e = dy[j] * call.gain[j];
    sum += e;
    product += e * ((x[j] - mean) * scale);
  }
  const float mean_e = static_cast<float>(SumOverWarp(sum, sum_parts) / call.columns);
  const float mean_ed = static_cast<float>(SumOverWarp(product, product_parts) / call.columns);
  for (int j = begin; j < end; j += kWarp)
    dy[j] = scale * (dy[j] * call.gain[j] - mean_e - (x[j] - mean) * scale * mean_ed);
}

}  // namespace murmurate
