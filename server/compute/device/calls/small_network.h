// Networks of a few small dense layers, as a whole in a few kernels: what one layer gives stays in
// the memory of its block for the next. All in 32 bits.
//
//   SmallForward    x -> y of every layer, a tile of 16 rows a block, a tower a grid row
//   SmallBackward   dz of the heads -> dz of every layer below, the same
//   SmallWeights    x, dz -> sums of runs of rows of the gradient of weights and biases
//   SmallFinish     -> the gradient
//
// A tower is a trunk, layer after layer, and then its heads, which all read what the trunk gives.
//
// A block of the first two has a thread for each unit of the widest layer (w); a thread has 4 rows x
// 4 columns of sums. Weights come in stages of some rows of the matrix, the next one on its way to
// registers while the present one is multiplied with. Counted, for w = 64 / 256 / 512:
//
//   memory of a block    stage 4 / 16 / 16 KB (16 / 16 / 8 rows), tile of 16 rows 4 / 16 / 32 KB:
//                        48 KB at most, which every GPU gives
//   registers            65,536 / 512 threads: 128 at most, which the compiler is told
//   a row of a stage     2 loads of 16 bytes and 16 multiplications a thread
//   weights              16 KB / 256 KB / 1 MB a layer and block from the L2: 8 operations a byte, so
//                        44 TFLOP/s where the L2 gives 5.5 TB/s, of 67 that 132 multiprocessors have
//   blocks               1,024 rows x 2 towers: 128. Tiles of 32 rows would halve the traffic of the
//                        L2, but leave half of the multiprocessors idle there, and where there are
//                        many more rows a library is faster (server/device/small_network_cost.h)
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

inline constexpr int kSmallMostWidth = 512;  ///< of what a layer reads or gives
inline constexpr int kSmallRows = 16;        ///< in a tile
inline constexpr int kSmallMostLayers = 6;   ///< of a tower
inline constexpr int kSmallMostTowers = 2;
inline constexpr int kSmallWeightTile = 64;  ///< rows and columns of a weight that a block sums
inline constexpr std::uint32_t kSmallWeightThreads = 256;

/// Of a block whose widest layer gives `widest`.
constexpr std::uint32_t SmallThreads(int widest) {
  return static_cast<std::uint32_t>(widest <= 64 ? 64 : (widest + 31) / 32 * 32);
}
/// Rows of a stage of weights, as many columns as threads.
constexpr int SmallStageRows(std::uint32_t threads) { return threads <= 256 ? 16 : 8; }
/// Memory of a block: its stage, then its tile. `widest_read`: of what any layer reads or gives.
constexpr std::uint32_t SmallBlockBytes(std::uint32_t threads, int widest_read) {
  const auto columns = static_cast<std::uint32_t>((widest_read + 3) / 4 * 4);
  return 4 * (static_cast<std::uint32_t>(SmallStageRows(threads)) * threads + kSmallRows * columns);
}
static_assert(SmallBlockBytes(256, kSmallMostWidth) <= 48 << 10 &&
              SmallBlockBytes(512, kSmallMostWidth) <= 48 << 10);

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
  int stage_rows;  ///< SmallStageRows of its threads
  SmallTower tower[kSmallMostTowers];
};

/// Towers without a trunk have nothing to do here.
struct SmallBackwardCall {
  static constexpr KernelId kKernel = KernelId::kSmallBackward;
  const float* parameters;
  std::size_t rows;
  int stage_rows;  ///< SmallStageRows of its threads
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
