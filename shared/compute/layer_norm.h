// LayerNorm over the last axis (arXiv 1607.06450): y = (x - mean) / sqrt(variance + 1e-5) * gain +
// shift, with the variance of the row itself (divided by its length). The way back is
// server/compute/pool_and_norm_gradient.h.
#pragma once

#include "shared/compute/layer_kernels.h"

namespace murmurate {

struct LayerNormCall {
  int rows = 0, columns = 0;
  const float* input = nullptr;  ///< [rows][columns], contiguous as all here
  const float* gain = nullptr;   ///< [columns]
  const float* shift = nullptr;  ///< [columns]
  float* output = nullptr;       ///< [rows][columns]; may be the input
  float* kept = nullptr;         ///< [rows][2]: mean, 1 / sqrt(variance + 1e-5); none: not wanted
};
void LayerNormForward(const LayerNormCall& call,
                      const LayerKernels& kernels = BestKernels<LayerKernels>());

}  // namespace murmurate
