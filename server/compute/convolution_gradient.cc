#include "server/compute/convolution_gradient.h"

#include <algorithm>
#include <cstring>

namespace murmurate {
namespace {

std::ptrdiff_t ImageStride(const ConvBackwardCall& call, const PatchTile& tile) {
  return call.image_stride != 0 ? call.image_stride : tile.picture;
}

/// Scratch: a tile of patches, then the weight transposed, [filters][depth].
std::ptrdiff_t PatchFloats(const PatchTile& tile) { return tile.rows * tile.stride; }

void AddWeightGradient(const ConvBackwardCall& call, const PatchTile& tile, int first, int count,
                       const LayerKernels& kernels) {
  const float* const dz = call.d_sums + std::ptrdiff_t{first} * call.filters;
  kernels.gather_patches({call.window, tile.out, call.input, call.bytes, first, count, call.scratch,
                          tile.stride, ImageStride(call, tile)});
  kernels.dense->gemm({.rows = tile.depth,
                       .columns = call.filters,
                       .depth = count,
                       .a = call.scratch,
                       .a_row_stride = 1,
                       .a_column_stride = tile.stride,
                       .b = dz,
                       .b_row_stride = call.filters,
                       .c = call.d_weight,
                       .c_row_stride = call.filters,
                       .accumulate = true});
  if (call.d_bias != nullptr)
    kernels.dense->add_column_sums(count, call.filters, dz, call.filters, call.d_bias);
}

/// Images that begin in the tile are zeroed before it is added, those that end in it are finished.
void InputGradient(const ConvBackwardCall& call, const PatchTile& tile, int first, int count,
                   const LayerGradientKernels& kernels) {
  const Window& w = call.window;
  const std::size_t picture = tile.picture;
  const int per_image = tile.out.height * tile.out.width;
  for (int i = (first + per_image - 1) / per_image; i * per_image < first + count; ++i)
    std::memset(call.d_input + i * picture, 0, picture * sizeof(float));
  kernels.forward->dense->gemm({.rows = count,
                                .columns = tile.depth,
                                .depth = call.filters,
                                .a = call.d_sums + std::ptrdiff_t{first} * call.filters,
                                .a_row_stride = call.filters,
                                .b = call.scratch + PatchFloats(tile),
                                .b_row_stride = tile.depth,
                                .c = call.scratch,
                                .c_row_stride = tile.stride});
  kernels.add_patches({w, tile.out, first, count, call.scratch, tile.stride, call.d_input});
  if (call.input_epilogue == Epilogue::kNone) return;
  for (int i = first / per_image; (i + 1) * per_image <= first + count; ++i)
    kernels.forward->apply(call.input_epilogue, picture, call.input + i * ImageStride(call, tile),
                           call.d_input + i * picture);
}

}  // namespace

std::size_t ConvBackwardScratchFloats(const Window& window, int filters, int images) {
  const PatchTile tile = TileOf(window, images);
  return PatchFloats(tile) + static_cast<std::size_t>(tile.depth) * filters;
}

void ConvBackward(const ConvBackwardCall& call, const LayerGradientKernels& kernels) {
  const PatchTile tile = TileOf(call.window, call.images);
  const LayerKernels& forward = *kernels.forward;
  if (call.d_input != nullptr)
    forward.dense->transpose(tile.depth, call.filters, call.weight,
                             call.scratch + PatchFloats(tile));
  for (int first = 0; first < tile.positions; first += tile.rows) {
    const int count = std::min(tile.rows, tile.positions - first);
    if (call.d_weight != nullptr) AddWeightGradient(call, tile, first, count, forward);
    if (call.d_input != nullptr) InputGradient(call, tile, first, count, kernels);
  }
}

}  // namespace murmurate
