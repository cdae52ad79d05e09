// A recurrent layer (shared/compute/recurrent.h) over whole sequences, and back, as the learner
// runs it. Nothing allocates; all blocks are contiguous and belong to the caller; G is the cell's
// gates, P its state parts, H is `hidden`, I `inputs`, B `rows`, T `steps`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/layer_gradient_kernels.h"
#include "shared/compute/recurrent.h"

namespace murmurate {

/// RecurrentKept is what Forward keeps for Backward, in one block of RecurrentKeptFloats floats; a
/// cell has the candidate, or the three blocks of c, or neither.
struct RecurrentKept {
  float* gates = nullptr;          ///< [T][B][G H] after their sigmoid or tanh
  float* candidate = nullptr;      ///< [T][B][G H]: h hidden_weight; its last H + hidden_bias
  float* cell = nullptr;           ///< [T][B][H]: c after each step, before any reset
  float* cell_tanh = nullptr;      ///< [T][B][H]
  float* hidden_before = nullptr;  ///< [T][B][H]: h that each step began with
  float* cell_before = nullptr;    ///< [T][B][H]: c that each step began with
};
std::size_t RecurrentKeptFloats(const RecurrentCell& cell, int steps, int rows, int hidden);
RecurrentKept RecurrentKeptIn(const RecurrentCell& cell, int steps, int rows, int hidden,
                              float* block);

struct RecurrentForwardCall {
  int steps = 0, rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;             ///< [T][B][I]
  const std::uint8_t* first = nullptr;  ///< [T][B]: 1 where the state is zeroed before the step
  const float* state0 = nullptr;        ///< [B][P H]: h, c before the first step; none: zeros
  const float* input_weight = nullptr;
  const float* hidden_weight = nullptr;
  const float* bias = nullptr;
  const float* hidden_bias = nullptr;  ///< of a cell with a candidate
  float* output = nullptr;             ///< [T][B][H]: h after each step, before any reset
  float* state = nullptr;              ///< [B][P H] after the last step; none: not wanted
  RecurrentKept kept;
};
void RecurrentForward(const RecurrentCell& cell, const RecurrentForwardCall& call,
                      const LayerKernels& kernels = BestKernels<LayerKernels>());

/// Backpropagation through all T steps (Werbos 1990); no gradient passes where `first` is 1.
/// kept.gates and kept.candidate are used up: they hold the gradients of their sums afterwards.
struct RecurrentBackwardCall {
  int steps = 0, rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;
  const std::uint8_t* first = nullptr;
  const float* input_weight = nullptr;
  const float* hidden_weight = nullptr;
  RecurrentKept kept;
  const float* d_output = nullptr;   ///< [T][B][H]
  const float* d_state = nullptr;    ///< [B][P H] of the state after the last step; none: zeros
  float* d_x = nullptr;              ///< [T][B][I], overwritten; none: not wanted
  float* d_input_weight = nullptr;   ///< [I][G H], added to
  float* d_hidden_weight = nullptr;  ///< [H][G H], added to
  float* d_bias = nullptr;           ///< [G H], added to
  float* d_hidden_bias = nullptr;    ///< [H], added to, of a cell with a candidate
  float* d_state0 = nullptr;         ///< [B][P H], overwritten; none: not wanted
  float* scratch = nullptr;          ///< RecurrentBackwardScratchFloats
};
std::size_t RecurrentBackwardScratchFloats(const RecurrentCell& cell, int rows, int inputs,
                                           int hidden);
void RecurrentBackward(const RecurrentCell& cell, const RecurrentBackwardCall& call,
                       const LayerGradientKernels& kernels = BestKernels<LayerGradientKernels>());

/// The gradient of that arithmetic (LayerGradientKernels::cell): all [rows][H] but gates and
/// candidate [rows][G H].
struct CellGradientCall {
  int rows = 0, hidden = 0;
  float* gates = nullptr;         ///< activated -> gradient of the sums
  float* candidate = nullptr;     ///< as kept -> gradient of h hidden_weight (+ hidden_bias)
  const float* before = nullptr;  ///< the last part of the state that the step began with
  const float* cell_tanh = nullptr;
  const float* d_output = nullptr;  ///< of this step's output
  /// What the next step handed back, added to d_output. With a candidate -> what passes by z to
  /// this h.
  float* d_hidden = nullptr;
  float* d_cell = nullptr;  ///< of c' -> of c
};

}  // namespace murmurate
