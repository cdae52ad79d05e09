// LayerGradientKernels: what the backward passes of convolutional and recurrent layers need beside
// matrix products; the learner's half of layer_kernels.h, compiled thrice in the same way.
#pragma once

#include "shared/compute/layer_kernels.h"

namespace murmurate {

struct PatchSumCall;
struct MaxPoolBackwardCall;
struct LayerNormBackwardCall;
struct CellGradientCall;

struct LayerGradientKernels {
  static const LayerGradientKernels kPlain, kAvx2, kAvx512;

  const LayerKernels* forward;  ///< of the same set

  void (*add_patches)(const PatchSumCall& call);
  void (*max_pool)(const MaxPoolBackwardCall& call);
  void (*layer_norm)(const LayerNormBackwardCall& call);
  void (*cell[2])(const CellGradientCall& call);  ///< by RecurrentCell::index
};

}  // namespace murmurate
