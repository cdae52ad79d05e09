// An LSTM (shared/compute/lstm.h) over whole sequences, and back, as the learner runs it. Nothing
// allocates; all blocks are contiguous and belong to the caller; H is `hidden`, I `inputs`, B
// `rows`, T `steps`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/layer_gradient_kernels.h"
#include "shared/compute/lstm.h"

namespace murmurate {

/// What Forward keeps for Backward, in one block of LstmKeptFloats floats.
struct LstmKept {
  float* gates = nullptr;          ///< [T][B][4 H] after their sigmoid or tanh
  float* cell = nullptr;           ///< [T][B][H]: c after each step, before any reset
  float* cell_tanh = nullptr;      ///< [T][B][H]
  float* hidden_before = nullptr;  ///< [T][B][H]: h that each step began with
  float* cell_before = nullptr;    ///< [T][B][H]: c that each step began with
};
std::size_t LstmKeptFloats(int steps, int rows, int hidden);
LstmKept LstmKeptIn(int steps, int rows, int hidden, float* block);

struct LstmForwardCall {
  int steps = 0, rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;             ///< [T][B][I]
  const std::uint8_t* first = nullptr;  ///< [T][B]: 1 where the state is zeroed before the step
  const float* state0 = nullptr;        ///< [B][2 H]: h, c before the first step; none: zeros
  const float* input_weight = nullptr;
  const float* hidden_weight = nullptr;
  const float* bias = nullptr;
  float* output = nullptr;  ///< [T][B][H]: h after each step, before any reset
  float* state = nullptr;   ///< [B][2 H] after the last step; none: not wanted
  LstmKept kept;
};
void LstmForward(const LstmForwardCall& call, const LayerKernels& kernels = BestLayerKernels());

/// Backpropagation through all T steps (Werbos 1990); no gradient passes where `first` is 1.
/// kept.gates are used up: they hold the gradient of the gates' sums afterwards.
struct LstmBackwardCall {
  int steps = 0, rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;
  const std::uint8_t* first = nullptr;
  const float* input_weight = nullptr;
  const float* hidden_weight = nullptr;
  LstmKept kept;
  const float* d_output = nullptr;   ///< [T][B][H]
  const float* d_state = nullptr;    ///< [B][2 H] of the state after the last step; none: zeros
  float* d_x = nullptr;              ///< [T][B][I], overwritten; none: not wanted
  float* d_input_weight = nullptr;   ///< [I][4 H], added to
  float* d_hidden_weight = nullptr;  ///< [H][4 H], added to
  float* d_bias = nullptr;           ///< [4 H], added to
  float* d_state0 = nullptr;         ///< [B][2 H], overwritten; none: not wanted
  float* scratch = nullptr;          ///< LstmBackwardScratchFloats
};
std::size_t LstmBackwardScratchFloats(int rows, int inputs, int hidden);
void LstmBackward(const LstmBackwardCall& call,
                  const LayerGradientKernels& kernels = BestLayerGradientKernels());

/// And back (LayerGradientKernels::lstm_cell): all [rows][H] but gates [rows][4 H].
struct LstmCellGradientCall {
  int rows = 0, hidden = 0;
  float* gates = nullptr;  ///< activated -> gradient of the sums
  const float* cell_before = nullptr;
  const float* cell_tanh = nullptr;
  const float* d_output = nullptr;  ///< of this step's output
  const float* d_hidden = nullptr;  ///< what the next step handed back; added to d_output
  float* d_cell = nullptr;          ///< of c' -> of c
};

}  // namespace murmurate
