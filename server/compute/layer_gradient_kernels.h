// LayerGradientKernels: what the backward passes of convolutional and recurrent layers need beside
// matrix products; the learner's half of layer_kernels.h, compiled thrice in the same way.
#pragma once

#include "shared/compute/layer_kernels.h"

namespace murmurate {

struct PatchSumCall;
struct MaxPoolBackwardCall;
struct LayerNormBackwardCall;
struct LstmCellGradientCall;
struct GruCellGradientCall;

struct LayerGradientKernels {
  const LayerKernels* forward;  ///< of the same set

  void (*add_patches)(const PatchSumCall& call);
  void (*max_pool)(const MaxPoolBackwardCall& call);
  void (*layer_norm)(const LayerNormBackwardCall& call);
  void (*lstm_cell)(const LstmCellGradientCall& call);
  void (*gru_cell)(const GruCellGradientCall& call);
};

/// Null when this processor or this build cannot run the set.
const LayerGradientKernels* FindLayerGradientKernels(KernelSet set);
const LayerGradientKernels& BestLayerGradientKernels();

}  // namespace murmurate
