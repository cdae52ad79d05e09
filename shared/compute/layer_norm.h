// LayerNorm over the last axis (arXiv 1607.06450): y = (x - mean) / sqrt(variance + 1e-5) * gain +
// shift, with the variance of the row itself (divided by its length). Forward is the client's too;
// Backward is in murmurate_compute.
#pragma once

#include "shared/compute/layer_gradient_kernels.h"

namespace murmurate {

struct LayerNormCall {
  int rows = 0, columns = 0;
  const float* input = nullptr;  ///< [rows][columns], contiguous as all here
  const float* gain = nullptr;   ///< [columns]
  const float* shift = nullptr;  ///< [columns]
  float* output = nullptr;       ///< [rows][columns]; may be the input
  float* kept = nullptr;         ///< [rows][2]: mean, 1 / sqrt(variance + 1e-5); none: not wanted
};
void LayerNormForward(const LayerNormCall& call, const LayerKernels& kernels = BestLayerKernels());

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
                       const LayerGradientKernels& kernels = BestLayerGradientKernels());

}  // namespace murmurate
