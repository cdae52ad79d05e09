// Gru: gated recurrent unit (Cho et al. 2014; gates, order and the bias inside the reset as
// PyTorch's torch.nn.GRU; the biases of r and z as their sums):
//
//   [r z] = sigmoid(x W_rz + h U_rz + b_rz),   n = tanh(x W_n + b_n + r (h U_n + hidden_bias)),
//   h' = (1 - z) n + z h
//
// with input_weight [W_r W_z W_n], hidden_weight [U_r U_z U_n], bias [b_r b_z b_n]. Step is what a
// client runs, for one or several agents; Forward and Backward (murmurate_compute) go over whole
// sequences on the learner. Nothing allocates; all blocks are contiguous and belong to the caller;
// H is `hidden`, I `inputs`, B `rows`, T `steps`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/layer_gradient_kernels.h"

namespace murmurate {

struct GruStepCall {
  int rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;              ///< [B][I]
  std::ptrdiff_t x_row_stride = 0;       ///< 0: I
  const float* input_weight = nullptr;   ///< [I][3 H], packed (packed_weight.h) when `packed`
  const float* hidden_weight = nullptr;  ///< [H][3 H], packed when `packed`
  bool packed = false;
  const float* bias = nullptr;         ///< [3 H]
  const float* hidden_bias = nullptr;  ///< [H]
  float* state = nullptr;              ///< [B][H], replaced by the next
  float* output = nullptr;             ///< [B][H]: the same once more; none: not wanted
  float* scratch = nullptr;            ///< GruStepScratchFloats
};

std::size_t GruStepScratchFloats(int rows, int hidden);
void GruStep(const GruStepCall& call, const LayerKernels& kernels = BestLayerKernels());

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

/// The arithmetic between the sums and the new state (LayerKernels::gru_cell).
struct GruCellCall {
  int rows = 0, hidden = 0;
  float* gates = nullptr;      ///< [rows][3 H]: x input_weight + bias
  float* candidate = nullptr;  ///< [rows][3 H]: h hidden_weight
  const float* hidden_bias = nullptr;
  bool keep = false;  ///< gates become r, z, n; the last third of candidate gets its bias
  const float* before = nullptr;  ///< [rows][H]
  float* output = nullptr;        ///< [rows][H], may be `before`
};

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
