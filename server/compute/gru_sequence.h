// A GRU (shared/compute/gru.h) over whole sequences, and back, as the learner runs it. Nothing
// allocates; all blocks are contiguous and belong to the caller; H is `hidden`, I `inputs`, B
// `rows`, T `steps`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/layer_gradient_kernels.h"
#include "shared/compute/gru.h"

namespace murmurate {

/// What Forward keeps for Backward, in one block of GruKeptFloats floats.
struct GruKept {
  float* gates = nullptr;          ///< [T][B][3 H]: r, z, n after their sigmoid or tanh
  float* candidate = nullptr;      ///< [T][B][3 H]: h hidden_weight; its last third + hidden_bias
  float* hidden_before = nullptr;  ///< [T][B][H]: h that each step began with
};
std::size_t GruKeptFloats(int steps, int rows, int hidden);
GruKept GruKeptIn(int steps, int rows, int hidden, float* block);

struct GruForwardCall {
  int steps = 0, rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;             ///< [T][B][I]
  const std::uint8_t* first = nullptr;  ///< [T][B]: 1 where the state is zeroed before the step
  const float* state0 = nullptr;        ///< [B][H] before the first step; none: zeros
  const float* input_weight = nullptr;
  const float* hidden_weight = nullptr;
  const float* bias = nullptr;
  const float* hidden_bias = nullptr;
  float* output = nullptr;  ///< [T][B][H]: h after each step, before any reset
  float* state = nullptr;   ///< [B][H] after the last step; none: not wanted
  GruKept kept;
};
void GruForward(const GruForwardCall& call, const LayerKernels& kernels = BestLayerKernels());

/// Backpropagation through all T steps; no gradient passes where `first` is 1. kept.gates and
/// kept.candidate are used up: they hold the gradients of their sums afterwards.
struct GruBackwardCall {
  int steps = 0, rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;
  const std::uint8_t* first = nullptr;
  const float* input_weight = nullptr;
  const float* hidden_weight = nullptr;
  GruKept kept;
  const float* d_output = nullptr;   ///< [T][B][H]
  const float* d_state = nullptr;    ///< [B][H] of the state after the last step; none: zeros
  float* d_x = nullptr;              ///< [T][B][I], overwritten; none: not wanted
  float* d_input_weight = nullptr;   ///< [I][3 H], added to
  float* d_hidden_weight = nullptr;  ///< [H][3 H], added to
  float* d_bias = nullptr;           ///< [3 H], added to
  float* d_hidden_bias = nullptr;    ///< [H], added to
  float* d_state0 = nullptr;         ///< [B][H], overwritten; none: not wanted
  float* scratch = nullptr;          ///< GruBackwardScratchFloats
};
std::size_t GruBackwardScratchFloats(int rows, int inputs, int hidden);
void GruBackward(const GruBackwardCall& call,
                 const LayerGradientKernels& kernels = BestLayerGradientKernels());

/// And back (LayerGradientKernels::gru_cell): all [rows][H] but gates and candidate [rows][3 H].
struct GruCellGradientCall {
  int rows = 0, hidden = 0;
  float* gates = nullptr;      ///< r, z, n -> gradient of x input_weight + bias
  float* candidate = nullptr;  ///< as kept -> gradient of h hidden_weight (+ hidden_bias)
  const float* before = nullptr;
  const float* d_output = nullptr;  ///< of this step's output
  float* d_hidden = nullptr;  ///< what the next step handed back -> what passes by z to this h
};

}  // namespace murmurate
