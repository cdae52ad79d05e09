#pragma once

#include "server/compute/device/calls/column_sums.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/layers.h"
#include "server/compute/device/kernels/walk.h"

namespace murmurate {

/// The thread's part of a column's sum. What is summed is what dy has become.
template <typename T>
MURMURATE_DEVICE double OwnColumnSum(const ColumnSumsCall& call, int column) {
  const std::size_t begin = GridRow() * call.rows_a_part;
  const std::size_t end =
      begin + call.rows_a_part < call.rows ? begin + call.rows_a_part : call.rows;
  double sum = 0;
  for (std::size_t row = begin + Thread() / kWarp; row < end && column < call.columns;
       row += Threads() / kWarp) {
    T* const dy = static_cast<T*>(call.dy) + row * call.stride + column;
    if (call.activation != DeviceActivation::kNone) {
      const T y = static_cast<const T*>(call.y)[row * call.columns + column];
      *dy = Narrowed<T>(Widened(*dy) * ActivationSlope(call.activation, Widened(y)));
    }
    sum += Widened(*dy);
  }
  return sum;
}

MURMURATE_KERNEL(ColumnSums) {
  MURMURATE_SHARED(double, parts, kSumThreads);
  const int column = static_cast<int>(Block() * kWarp + Thread() % kWarp);
  double sum = call.type == ElementType::kBf16 ? OwnColumnSum<Bf16>(call, column)
                                               : OwnColumnSum<float>(call, column);
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
