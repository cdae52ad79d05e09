#pragma once

#include "server/compute/device/calls/elements.h"
#include "server/compute/device/device.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// to[columns][rows] <- from[rows][columns], which do not overlap; the grid is TransposeGrid's. A
/// convolution's weights go from [ky][kx][channels][filters] to [filters][ky][kx][channels] and back.
struct TransposeCall {
  static constexpr KernelId kKernel = KernelId::kTranspose;
  static constexpr int kTile = 32;
  const void* from;
  void* to;
  int rows, columns;
  ElementType from_type = ElementType::kFloat32, to_type = ElementType::kFloat32;
};

/// A block for each tile; 8 rows of threads go through its 32.
inline Grid TransposeGrid(const TransposeCall& call) {
  const auto tiles = [](int count) {
    return static_cast<std::uint32_t>((count + TransposeCall::kTile - 1) / TransposeCall::kTile);
  };
  return {.blocks = tiles(call.columns), .rows = tiles(call.rows), .threads = 256};
}

}  // namespace murmurate
