// The gradients of LayerNorm (shared/compute/layer_norm.h) and MaxPool (shared/compute/max_pool.h).
#pragma once

#include "server/compute/layer_gradient_kernels.h"
#include "shared/compute/layer_norm.h"
#include "shared/compute/max_pool.h"

namespace murmurate {

struct LayerNormBackwardCall {
  int rows = 0, columns = 0;
  const float* input = nullptr;
  const float* gain = nullptr;
  const float* kept = nullptr;      ///< as forward left it
  const float* d_output = nullptr;  ///< [rows][columns]
  float* d_input = nullptr;         ///< [rows][columns], overwritten; may be d_output
  float* d_gain = nullptr;          ///< [columns], added to
  float* d_shift = nullptr;         ///< [columns], added to
};
void LayerNormBackward(const LayerNormBackwardCall& call,
                       const LayerGradientKernels& kernels = BestKernels<LayerGradientKernels>());

struct MaxPoolBackwardCall {
  Window window;
  int images = 1;
  const float* winner = nullptr;    ///< as forward left it
  const float* d_output = nullptr;  ///< [images][out height][out width][channels]
  float* d_input = nullptr;         ///< [images][height][width][channels], overwritten
};
void MaxPoolBackward(const MaxPoolBackwardCall& call,
                     const LayerGradientKernels& kernels = BestKernels<LayerGradientKernels>());

}  // namespace murmurate
