// MaxPool: the greatest number under a window, channel by channel, as PyTorch's max_pool2d: padding
// never wins, and of equal numbers the first of the window. The way back is
// server/compute/pool_and_norm_gradient.h.
#pragma once

#include "shared/compute/layer_kernels.h"
#include "shared/compute/window.h"

namespace murmurate {

/// Each padding must be at most half of its kernel side (no window lies in padding alone).
struct MaxPoolCall {
  Window window;
  int images = 1;
  const float* input = nullptr;  ///< [images][height][width][channels]
  float* output = nullptr;       ///< [images][out height][out width][channels]
  /// The shape of output: where in its window each number was found, row * kernel width + column.
  /// MaxPoolBackward needs it; none: not wanted.
  float* winner = nullptr;
};
void MaxPoolForward(const MaxPoolCall& call,
                    const LayerKernels& kernels = BestKernels<LayerKernels>());

}  // namespace murmurate
