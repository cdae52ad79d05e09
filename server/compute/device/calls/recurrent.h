// The calls of a recurrent layer's steps (shared/compute/recurrent.h has the cells): H is `hidden`,
// a block without another shape is [lanes][H]. One thread takes one unit of one lane.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// The state that the first step begins with: h, and c where the cell has it.
struct RecurrentStartCall {
  static constexpr KernelId kKernel = KernelId::kRecurrentStart;
  int lanes, hidden;
  const float* state0;  ///< [lanes][state_stride] from this layer's h on; null: zeros
  std::size_t state_stride;
  const std::uint8_t* first;  ///< [lanes]: 1 where the state is zeroed; null: nowhere
  float* hidden_before;
  float* cell_before;  ///< null: the cell has no c
};

/// The state that the next step begins with, which a step leaves.
struct NextState {
  const std::uint8_t* first;  ///< [lanes]: 1 where it is zeroed; null: nowhere
  float* hidden_before;       ///< null: there is no next step
  float* cell_before;
};

struct LstmStepCall {
  static constexpr KernelId kKernel = KernelId::kLstmStep;
  int lanes, hidden;
  const float* bias;    ///< [4 H]
  float* gates;         ///< [lanes][4 H]: sums without bias -> i f g o
  const float* before;  ///< c
  float* cell;
  float* cell_tanh;
  float* output;
  NextState next;
};

struct GruStepCall {
  static constexpr KernelId kKernel = KernelId::kGruStep;
  int lanes, hidden;
  const float* bias;         ///< [3 H]
  const float* hidden_bias;  ///< [H]
  float* gates;              ///< [lanes][3 H]: sums of the inputs without bias -> r z n
  float* candidate;          ///< [lanes][3 H]: h hidden_weight; its last H get hidden_bias
  const float* before;       ///< h
  float* output;
  NextState next;
};

/// What the step after this one handed back. Nothing of it passes where an episode began.
struct HandedBack {
  bool none;                  ///< there was no step after this one
  const std::uint8_t* first;  ///< [lanes], of that step; null: nowhere
};

struct LstmStepBackCall {
  static constexpr KernelId kKernel = KernelId::kLstmStepBack;
  int lanes, hidden;
  float* gates;  ///< i f g o -> gradient of their sums
  const float* before;
  const float* cell_tanh;
  const float* d_output;
  HandedBack after;
  const float* d_hidden;  ///< handed back
  float* d_cell;          ///< handed back -> handed on
};

struct GruStepBackCall {
  static constexpr KernelId kKernel = KernelId::kGruStepBack;
  int lanes, hidden;
  float* gates;      ///< r z n -> gradient of their sums
  float* candidate;  ///< as GruStep left it -> gradient of h hidden_weight
  const float* before;
  const float* d_output;
  HandedBack after;
  float* d_hidden;  ///< handed back -> what passes by z; that of h hidden_weight is to be added
};

/// The state after the last step.
struct RecurrentEndCall {
  static constexpr KernelId kKernel = KernelId::kRecurrentEnd;
  int lanes, hidden;
  const float* output;
  const float* cell;  ///< null: the cell has no c
  float* state_out;   ///< [lanes][state_stride] from this layer's h on
  std::size_t state_stride;
};

}  // namespace murmurate
