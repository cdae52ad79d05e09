// Networks of a few small dense layers, as a whole in a few kernels: what one layer gives stays in
// the memory of its block for the next. All in 32 bits.
//
//   SmallForward    x -> y of every layer, a tile of rows a block, a tower a grid row
//   SmallBackward   dz of the heads -> dz of every layer below, the same
//   SmallWeights    x, dz -> sums of runs of rows of the gradient of weights and biases
//   SmallFinish     -> the gradient
//
// A tower is a trunk, layer after layer, and then its heads, which all read what the trunk gives.
// Its blocks have SmallThreads(widest) threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

inline constexpr int kSmallMostWidth = 256;  ///< of what a layer reads or gives
inline constexpr int kSmallRows = 16;        ///< in a tile
inline constexpr int kSmallMostLayers = 6;   ///< of a tower
inline constexpr int kSmallMostTowers = 2;
inline constexpr int kSmallWeightTile = 64;  ///< rows and columns of a weight that a block sums
inline constexpr std::uint32_t kSmallWeightThreads = 256;

constexpr std::uint32_t SmallThreads(int widest) {
  return static_cast<std::uint32_t>(widest <= 64 ? 64 : (widest + 31) / 32 * 32);
}

struct SmallLayer {
  std::size_t weight, bias;  ///< floats from the start of the parameters
  const float* x;            ///< [rows][in]
  float* y;                  ///< [rows][out]
  float* dz;                 ///< [rows][out]: gradient of what it computes before its activation
  int in, out;
  DeviceActivation activation;
};

struct SmallTower {
  int trunk, layers;  ///< the first `trunk` of the layers are the trunk's, the rest heads
  SmallLayer layer[kSmallMostLayers];
};

struct SmallForwardCall {
  static constexpr KernelId kKernel = KernelId::kSmallForward;
  const float* parameters;
  std::size_t rows;
  SmallTower tower[kSmallMostTowers];
};

/// Towers without a trunk have nothing to do here.
struct SmallBackwardCall {
  static constexpr KernelId kKernel = KernelId::kSmallBackward;
  const float* parameters;
  std::size_t rows;
  SmallTower tower[kSmallMostTowers];
};

/// A layer among all, and where its gradient lies in one part's sums: weight, then bias.
struct SmallGradient {
  std::size_t weight, bias;  ///< floats from the start of the parameters
  const float* x;
  const float* dz;
  std::size_t sums;  ///< floats from the start of a part's sums
  int in, out;
  std::uint32_t tile;  ///< its first block of SmallWeights
};
struct SmallGradients {
  static constexpr int kMost = kSmallMostLayers * kSmallMostTowers;
  int layers;
  SmallGradient layer[kMost];
  std::size_t numbers;  ///< of one part's sums
  std::size_t parts;
  float* sums;  ///< [parts][numbers]
};

/// Grid{.blocks = all tiles, .rows = parts, .threads = kSmallWeightThreads}
struct SmallWeightsCall {
  static constexpr KernelId kKernel = KernelId::kSmallWeights;
  SmallGradients gradients;
  std::size_t rows, rows_a_part;
};

/// gradient <- the sums of all parts, one thread for each of `numbers`.
struct SmallFinishCall {
  static constexpr KernelId kKernel = KernelId::kSmallFinish;
  SmallGradients gradients;
  float* gradient;
};

}  // namespace murmurate
