#pragma once

#include "server/compute/device/calls/transpose.h"
#include "server/compute/device/kernel_language.h"

namespace murmurate {

MURMURATE_KERNEL(Transpose) {
  constexpr int kTile = TransposeCall::kTile;
  MURMURATE_SHARED(float, tile, kTile*(kTile + 1));  // one more: a column lies in 32 banks
  const int lane = static_cast<int>(Thread()) % kTile;
  const int first = static_cast<int>(Thread()) / kTile, step = static_cast<int>(Threads()) / kTile;
  const int row = static_cast<int>(GridRow()) * kTile, column = static_cast<int>(Block()) * kTile;
  for (int i = first; i < kTile; i += step) {
    if (row + i < call.rows && column + lane < call.columns)
      tile[i * (kTile + 1) + lane] =
          ReadNumber(call.from, call.from_type,
                     static_cast<std::size_t>(row + i) * call.columns + column + lane);
  }
  SyncThreads();
  for (int i = first; i < kTile; i += step) {
    if (column + i < call.columns && row + lane < call.rows)
      WriteNumber(call.to, call.to_type,
                  static_cast<std::size_t>(column + i) * call.rows + row + lane,
                  tile[lane * (kTile + 1) + i]);
  }
}

}  // namespace murmurate
