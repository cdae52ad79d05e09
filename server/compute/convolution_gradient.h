// The gradient of a convolution (shared/compute/convolution.h) by its weights, bias and input.
// Nothing allocates: `scratch` (64-byte aligned is faster) is the caller's, one per thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/layer_gradient_kernels.h"
#include "shared/compute/convolution.h"

namespace murmurate {

struct ConvBackwardCall {
  Window window;
  int filters = 0, images = 1;
  const float* input = nullptr;  ///< as forward: input or bytes
  const std::uint8_t* bytes = nullptr;
  const float* weight = nullptr;
  /// [images][out height][out width][filters]: gradient of the sums, before forward's epilogue
  /// (LayerKernels::apply turns the gradient of the output into it).
  const float* d_sums = nullptr;
  float* d_weight = nullptr;  ///< added to; none: not wanted (then d_bias neither)
  float* d_bias = nullptr;    ///< added to; or none
  float* d_input = nullptr;   ///< overwritten; none: not wanted; never with bytes
  /// The gradient form of the activation whose output `input` is: d_input becomes the gradient of
  /// the sums below.
  Epilogue input_epilogue = Epilogue::kNone;
  float* scratch = nullptr;
  std::ptrdiff_t image_stride = 0;  ///< of input or bytes, as forward; d_input is contiguous
};

std::size_t ConvBackwardScratchFloats(const Window& window, int filters, int images);
void ConvBackward(const ConvBackwardCall& call,
                  const LayerGradientKernels& kernels = BestKernels<LayerGradientKernels>());

/// The reverse: adds each patch to where it was taken from.
struct PatchSumCall {
  Window window;
  Extent out;
  int first = 0, count = 0;
  const float* patches = nullptr;
  std::ptrdiff_t patch_stride = 0;
  float* sums = nullptr;  ///< [images][height][width][channels]
};

}  // namespace murmurate
