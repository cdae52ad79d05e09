// Recurrent: the step of a recurrent layer, which is what a client runs, for one or several agents.
// A RecurrentCell says in which traits two cells differ; everything else is one code for both.
// server/compute/recurrent_sequence.h goes over whole sequences.
//
// LSTM: long short-term memory (Hochreiter and Schmidhuber 1997; gates and order as PyTorch's
// torch.nn.LSTM, its two biases as their sum):
//
//   [i f g o] = x input_weight + h hidden_weight + bias,
//   c' = sigmoid(f) c + sigmoid(i) tanh(g),   h' = sigmoid(o) tanh(c')
//
// GRU: gated recurrent unit (Cho et al. 2014; gates, order and the bias inside the reset as
// PyTorch's torch.nn.GRU; the biases of r and z as their sums):
//
//   [r z] = sigmoid(x W_rz + h U_rz + b_rz),   n = tanh(x W_n + b_n + r (h U_n + hidden_bias)),
//   h' = (1 - z) n + z h
//
// with input_weight [W_r W_z W_n], hidden_weight [U_r U_z U_n], bias [b_r b_z b_n].
//
// Nothing allocates; all blocks are contiguous and belong to the caller; G is the cell's gates, P
// its state parts, H is `hidden`, I `inputs`, B `rows`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/layer_kernels.h"

namespace murmurate {

struct RecurrentCell {
  int index;        ///< in LayerKernels::cell and LayerGradientKernels::cell
  int gates;        ///< columns of the weights, in units of H
  int state_parts;  ///< blocks of H that an agent carries: h, and then c
  /// The product with h stays apart from the one with x (the candidate), because a gate resets it
  /// before they are added; then there is a hidden bias, too.
  bool candidate;

  /// Blocks of [steps][B][H] that RecurrentBackward needs of RecurrentForward: gates, candidate, h
  /// that a step began with, and of c also what it became and its tanh.
  int kept_parts() const { return gates * (candidate ? 2 : 1) + 3 * state_parts - 2; }
};
constexpr RecurrentCell kLstmCell = {.index = 0, .gates = 4, .state_parts = 2, .candidate = false};
constexpr RecurrentCell kGruCell = {.index = 1, .gates = 3, .state_parts = 1, .candidate = true};

struct RecurrentStepCall {
  int rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;              ///< [B][I]
  std::ptrdiff_t x_row_stride = 0;       ///< 0: I
  const float* input_weight = nullptr;   ///< [I][G H], packed (packed_weight.h) when `packed`
  const float* hidden_weight = nullptr;  ///< [H][G H], packed when `packed`
  bool packed = false;
  const float* bias = nullptr;         ///< [G H]
  const float* hidden_bias = nullptr;  ///< [H], of a cell with a candidate
  float* state = nullptr;              ///< [B][P H]: h, then c; replaced by the next
  float* output = nullptr;             ///< [B][H]: h once more; none: not wanted
  float* scratch = nullptr;            ///< RecurrentStepScratchFloats
};

std::size_t RecurrentStepScratchFloats(const RecurrentCell& cell, int rows, int hidden);
void RecurrentStep(const RecurrentCell& cell, const RecurrentStepCall& call,
                   const LayerKernels& kernels = BestKernels<LayerKernels>());

/// The arithmetic between the gates' sums and the new state (LayerKernels::cell).
struct CellCall {
  int rows = 0, hidden = 0;
  float* gates = nullptr;      ///< [rows][G H] sums; of a cell with a candidate those of x alone
  float* candidate = nullptr;  ///< [rows][G H]: h hidden_weight
  const float* hidden_bias = nullptr;
  /// gates become the activated ones, cell_tanh is written, and the last H of candidate gets its
  /// bias.
  bool keep = false;
  const float* before = nullptr;  ///< [rows][H]: the last part of the state, c or h
  float* cell = nullptr;          ///< c, of a state of two parts; may be `before`
  float* output = nullptr;        ///< h; may be `before` when the state has one part
  std::ptrdiff_t before_stride = 0, cell_stride = 0, output_stride = 0;
  float* cell_tanh = nullptr;  ///< [rows][H]
};

}  // namespace murmurate
