// Gru: gated recurrent unit (Cho et al. 2014; gates, order and the bias inside the reset as
// PyTorch's torch.nn.GRU; the biases of r and z as their sums):
//
//   [r z] = sigmoid(x W_rz + h U_rz + b_rz),   n = tanh(x W_n + b_n + r (h U_n + hidden_bias)),
//   h' = (1 - z) n + z h
//
// with input_weight [W_r W_z W_n], hidden_weight [U_r U_z U_n], bias [b_r b_z b_n]. Step is what a
// client runs, for one or several agents; server/compute/gru_sequence.h goes over whole sequences.
// Nothing allocates; all blocks are contiguous and belong to the caller; H is `hidden`, I `inputs`,
// B `rows`.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/layer_kernels.h"

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

}  // namespace murmurate
