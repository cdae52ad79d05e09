// Convolution: conv2d over NHWC pictures, as PyTorch's (a cross-correlation).
//
//   output[n][y][x][f] = epilogue(bias[f] + sum over ky, kx, c of
//       input[n][y sy + ky - py][x sx + kx - px][c] * weight[(ky kw + kx) channels + c][f])
//
// Patches of input are gathered for a tile of output positions that stays in the second cache, then
// multiplied (im2col by tiles: Chellapilla et al. 2006; no picture-sized buffer). Bytes are scaled
// by 1/255 while they are gathered. The way back is server/compute/convolution_gradient.h.
// Nothing allocates: `scratch` (64-byte aligned is faster) is the caller's, one per thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/layer_kernels.h"
#include "shared/compute/window.h"

namespace murmurate {

struct ConvForwardCall {
  Window window;
  int filters = 0, images = 1;
  const float* input = nullptr;         ///< [images][height][width][channels]
  const std::uint8_t* bytes = nullptr;  ///< instead of input, the same shape, worth bytes / 255
  const float* weight = nullptr;        ///< [kernel height * kernel width * channels][filters]
  const float* bias = nullptr;          ///< [filters] or none
  Epilogue epilogue = Epilogue::kNone;
  float* output = nullptr;  ///< [images][out height][out width][filters]
  float* scratch = nullptr;
  std::ptrdiff_t image_stride = 0;  ///< elements from one input image to the next; 0: contiguous
};

std::size_t ConvForwardScratchFloats(const Window& window, int images);
void ConvForward(const ConvForwardCall& call,
                 const LayerKernels& kernels = BestKernels<LayerKernels>());

/// PatchTile says how many patches are in hand at once, and how they lie in the scratch.
struct PatchTile {
  Extent out;
  int positions = 0;           ///< output positions of all images
  int rows = 0;                ///< of them in one tile
  int depth = 0;               ///< floats of one patch
  std::ptrdiff_t stride = 0;   ///< from one patch to the next
  std::ptrdiff_t picture = 0;  ///< elements of one input image
};
PatchTile TileOf(const Window& window, int images);

/// The patches of `count` output positions from the `first` on (counted over all images): what
/// LayerKernels::gather_patches does. Row r of `patches` is the patch of position first + r, and
/// has room for 15 floats more, which change.
struct PatchCall {
  Window window;
  Extent out;
  const float* input = nullptr;
  const std::uint8_t* bytes = nullptr;
  int first = 0, count = 0;
  float* patches = nullptr;
  std::ptrdiff_t patch_stride = 0, image_stride = 0;
};

}  // namespace murmurate
