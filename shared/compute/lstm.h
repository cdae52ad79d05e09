// Lstm: long short-term memory (Hochreiter and Schmidhuber 1997; gates and order as PyTorch's
// torch.nn.LSTM, its two biases as their sum):
//
//   [i f g o] = x input_weight + h hidden_weight + bias,
//   c' = sigmoid(f) c + sigmoid(i) tanh(g),   h' = sigmoid(o) tanh(c')
//
// Step is what a client runs, for one or several agents; server/compute/lstm_sequence.h goes over
// whole sequences. Nothing allocates; all blocks are contiguous and belong to the caller; H is
// `hidden`, I `inputs`, B `rows`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/layer_kernels.h"

namespace murmurate {

struct LstmStepCall {
  int rows = 1, inputs = 0, hidden = 0;
  const float* x = nullptr;              ///< [B][I]
  std::ptrdiff_t x_row_stride = 0;       ///< 0: I
  const float* input_weight = nullptr;   ///< [I][4 H], packed (packed_weight.h) when `packed`
  const float* hidden_weight = nullptr;  ///< [H][4 H], packed when `packed`
  bool packed = false;
  const float* bias = nullptr;  ///< [4 H]
  float* state = nullptr;       ///< [B][2 H]: h, then c; replaced by the next
  float* output = nullptr;      ///< [B][H]: h once more; none: not wanted
  float* scratch = nullptr;     ///< LstmStepScratchFloats
};

std::size_t LstmStepScratchFloats(int rows, int hidden);
void LstmStep(const LstmStepCall& call, const LayerKernels& kernels = BestLayerKernels());

/// The arithmetic between the gates' sums and the new state (LayerKernels::lstm_cell).
struct LstmCellCall {
  int rows = 0, hidden = 0;
  float* gates = nullptr;  ///< [rows][4 H] sums
  bool keep = false;       ///< gates become the activated ones, and cell_tanh is written
  const float* cell_before = nullptr;
  float* cell = nullptr;  ///< may be cell_before
  std::ptrdiff_t cell_before_stride = 0, cell_stride = 0, output_stride = 0;
  float* output = nullptr;     ///< h
  float* cell_tanh = nullptr;  ///< [rows][H]
};

}  // namespace murmurate
