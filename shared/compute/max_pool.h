// MaxPool: the greatest number under a window, channel by channel, as PyTorch's max_pool2d: padding
// never wins, and of equal numbers the first of the window. Forward is the client's too; Backward
// is in murmurate_compute.
#pragma once

#include "shared/compute/layer_gradient_kernels.h"
#include "shared/compute/window.h"

namespace murmurate {

/// Each padding must be at most half of its kernel side (no window lies in padding alone).
struct MaxPoolCall {
  Window window;
  int images = 1;
  const float* input = nullptr;  ///< [images][height][width][channels]
  float* output = nullptr;       ///< [images][out height][out width][channels]
  /// The shape of output: where in its window each number was found, row * kernel width + column.
  /// What Backward needs; none: not wanted.
  float* winner = nullptr;
};
void MaxPoolForward(const MaxPoolCall& call, const LayerKernels& kernels = BestLayerKernels());

struct MaxPoolBackwardCall {
  Window window;
  int images = 1;
  const float* winner = nullptr;    ///< as forward left it
  const float* d_output = nullptr;  ///< [images][out height][out width][channels]
  float* d_input = nullptr;         ///< [images][height][width][channels], overwritten
};
void MaxPoolBackward(const MaxPoolBackwardCall& call,
                     const LayerGradientKernels& kernels = BestLayerGradientKernels());

}  // namespace murmurate
