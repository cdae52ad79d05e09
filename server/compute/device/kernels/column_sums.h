#pragma once

#include "server/compute/device/calls/column_sums.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/layers.h"
#include "server/compute/device/kernels/walk.h"

namespace murmurate {

MURMURATE_KERNEL(ColumnSums) {
  MURMURATE_SHARED(double, parts, kSumThreads);
  const int column = static_cast<int>(Block() * kWarp + Thread() % kWarp);
  const std::size_t begin = GridRow() * call.rows_a_part;
  const std::size_t end =
      begin + call.rows_a_part < call.rows ? begin + call.rows_a_part : call.rows;
  double sum = 0;
  for (std::size_t row = begin + Thread() / kWarp; row < end && column < call.columns;
       row += Threads() / kWarp) {
    float* const dy = call.dy + row * call.stride + column;
    float value = *dy;
    if (call.activation != DeviceActivation::kNone) {
      value *= ActivationSlope(call.activation, call.y[row * call.columns + column]);
      *dy = value;
    }
    sum += value;
  }
  sum = SumOverWarps(sum, parts);
  if (Thread() < kWarp && column < call.columns)
    call.partials[static_cast<std::size_t>(GridRow()) * call.columns + column] = sum;
}

MURMURATE_KERNEL(FinishSums) {
  MURMURATE_SHARED(double, parts, kSumThreads);
  const int column = static_cast<int>(Block() * kWarp + Thread() % kWarp);
  double sum = 0;
  for (std::size_t part = Thread() / kWarp; part < call.parts && column < call.columns;
       part += Threads() / kWarp)
    sum += call.partials[part * call.stride + column];
  sum = SumOverWarps(sum, parts);
  if (Thread() < kWarp && column < call.columns) call.to[column] = static_cast<float>(sum);
}

}  // namespace murmurate
