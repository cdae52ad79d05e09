#include "shared/compute/convolution.h"

#include <algorithm>

namespace murmurate {
namespace {

/// A quarter of a small second cache; rows are whole tiles of every set's gemm.
constexpr int kTileFloats = 48 * 1024, kRowMultiple = 12;

/// A convolution of one pixel multiplies the picture as it lies.
bool IsProduct(const ConvForwardCall& call) {
  const Window& w = call.window;
  return call.bytes == nullptr && call.image_stride == 0 && w.kernel.height == 1 &&
         w.kernel.width == 1 && w.stride.height == 1 && w.stride.width == 1 &&
         w.padding.height == 0 && w.padding.width == 0;
}

}  // namespace

PatchTile TileOf(const Window& w, int images) {
  PatchTile tile;
  tile.out = OutputExtent(w);
  tile.positions = images * tile.out.height * tile.out.width;
  tile.depth = w.kernel.height * w.kernel.width * w.channels;
  tile.stride = (tile.depth + 15) / 16 * 16 + 16;  // columns of a tile spread over the cache's sets
  tile.picture = std::ptrdiff_t{w.height} * w.width * w.channels;
  const int rows = kTileFloats / static_cast<int>(tile.stride) / kRowMultiple * kRowMultiple;
  tile.rows = std::min(tile.positions, std::max(rows, kRowMultiple));
  return tile;
}

std::size_t ConvForwardScratchFloats(const Window& window, int images) {
  const PatchTile tile = TileOf(window, images);
  return static_cast<std::size_t>(tile.rows) * tile.stride;
}

void ConvForward(const ConvForwardCall& call, const LayerKernels& kernels) {
  const PatchTile tile = TileOf(call.window, call.images);
  const bool is_product = IsProduct(call);
  for (int first = 0; first < tile.positions; first += tile.rows) {
    const int count = std::min(tile.rows, tile.positions - first);
    const float* a = call.input + (is_product ? std::ptrdiff_t{first} * tile.depth : 0);
    if (!is_product) {
      kernels.gather_patches({call.window, tile.out, call.input, call.bytes, first, count,
                              call.scratch, tile.stride,
                              call.image_stride != 0 ? call.image_stride : tile.picture});
      a = call.scratch;
    }
    kernels.dense->gemm({.rows = count,
                         .columns = call.filters,
                         .depth = tile.depth,
                         .a = a,
                         .a_row_stride = is_product ? tile.depth : tile.stride,
                         .b = call.weight,
                         .b_row_stride = call.filters,
                         .c = call.output + std::ptrdiff_t{first} * call.filters,
                         .c_row_stride = call.filters,
                         .bias = call.bias,
                         .epilogue = call.epilogue});
  }
}

}  // namespace murmurate
