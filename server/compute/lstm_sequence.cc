#include "server/compute/lstm_sequence.h"

#include <algorithm>

#include "server/compute/recurrence.h"

namespace murmurate {
namespace {

/// Row `step` of a block of [T][rows][width].
std::ptrdiff_t At(int step, int rows, int width) { return std::ptrdiff_t{step} * rows * width; }

void BeginStep(const LstmForwardCall& call, int step) {
  const int n = call.hidden, rows = call.rows;
  const std::uint8_t* const first = call.first + At(step, rows, 1);
  const float *h = call.state0, *c = h != nullptr ? h + n : nullptr;
  std::ptrdiff_t stride = std::ptrdiff_t{2} * n;
  if (step > 0) {
    h = call.output + At(step - 1, rows, n);
    c = call.kept.cell + At(step - 1, rows, n);
    stride = n;
  }
  const std::ptrdiff_t at = At(step, rows, n);
  CopyUnlessFirst(rows, n, first, h, stride, call.kept.hidden_before + at, n);
  CopyUnlessFirst(rows, n, first, c, stride, call.kept.cell_before + at, n);
}

void RunStep(const LstmForwardCall& call, int step, const LayerKernels& kernels) {
  const int n = call.hidden, rows = call.rows;
  const std::ptrdiff_t at = At(step, rows, n);
  float* const gates = call.kept.gates + 4 * at;
  kernels.dense->gemm({.rows = rows,
                       .columns = 4 * n,
                       .depth = n,
                       .a = call.kept.hidden_before + at,
                       .a_row_stride = n,
                       .b = call.hidden_weight,
                       .b_row_stride = std::ptrdiff_t{4} * n,
                       .c = gates,
                       .c_row_stride = std::ptrdiff_t{4} * n,
                       .accumulate = true});
  kernels.lstm_cell({.rows = rows,
                     .hidden = n,
                     .gates = gates,
                     .keep = true,
                     .cell_before = call.kept.cell_before + at,
                     .cell = call.kept.cell + at,
                     .cell_before_stride = n,
                     .cell_stride = n,
                     .output_stride = n,
                     .output = call.output + at,
                     .cell_tanh = call.kept.cell_tanh + at});
}

/// Scratch of Backward: two gradients that step back, then the weights turned.
struct Scratch {
  float *d_hidden, *d_cell, *hidden_turned, *input_turned;

  Scratch(const LstmBackwardCall& call)
      : d_hidden(call.scratch),
        d_cell(d_hidden + At(1, call.rows, call.hidden)),
        hidden_turned(d_cell + At(1, call.rows, call.hidden)),
        input_turned(hidden_turned + At(4, call.hidden, call.hidden)) {}
};

void StartBackward(const LstmBackwardCall& call, const Scratch& s, const DenseKernels& dense) {
  const int n = call.hidden;
  for (int row = 0; row < call.rows; ++row) {
    float* const to[2] = {s.d_hidden + At(1, row, n), s.d_cell + At(1, row, n)};
    for (int half = 0; half < 2; ++half) {
      if (call.d_state == nullptr)
        std::fill_n(to[half], n, 0.0f);
      else
        std::copy_n(call.d_state + At(2, row, n) + At(half, 1, n), n, to[half]);
    }
  }
  if (call.rows > kFewRows) dense.transpose(n, 4 * n, call.hidden_weight, s.hidden_turned);
  if (call.d_x != nullptr && call.steps * call.rows > kFewRows)
    dense.transpose(call.inputs, 4 * n, call.input_weight, s.input_turned);
}

void StepBack(const LstmBackwardCall& call, int step, const Scratch& s,
              const LayerGradientKernels& kernels) {
  const int n = call.hidden, rows = call.rows;
  const std::ptrdiff_t at = At(step, rows, n);
  float* const gates = call.kept.gates + 4 * at;
  kernels.lstm_cell({.rows = rows,
                     .hidden = n,
                     .gates = gates,
                     .cell_before = call.kept.cell_before + at,
                     .cell_tanh = call.kept.cell_tanh + at,
                     .d_output = call.d_output + at,
                     .d_hidden = s.d_hidden,
                     .d_cell = s.d_cell});
  MultiplyByTranspose(*kernels.forward->dense, rows, n, 4 * n, gates, call.hidden_weight,
                      s.hidden_turned, s.d_hidden);
  const std::uint8_t* const first = call.first + At(step, rows, 1);
  for (int row = 0; row < rows; ++row) {
    if (first[row] == 0) continue;
    std::fill_n(s.d_hidden + At(1, row, n), n, 0.0f);
    std::fill_n(s.d_cell + At(1, row, n), n, 0.0f);
  }
}

}  // namespace

std::size_t LstmKeptFloats(int steps, int rows, int hidden) { return 8 * At(steps, rows, hidden); }

LstmKept LstmKeptIn(int steps, int rows, int hidden, float* block) {
  const std::ptrdiff_t one = At(steps, rows, hidden);
  return {.gates = block,
          .cell = block + 4 * one,
          .cell_tanh = block + 5 * one,
          .hidden_before = block + 6 * one,
          .cell_before = block + 7 * one};
}

void LstmForward(const LstmForwardCall& call, const LayerKernels& kernels) {
  const int n = call.hidden, rows = call.rows;
  kernels.dense->gemm({.rows = call.steps * rows,
                       .columns = 4 * n,
                       .depth = call.inputs,
                       .a = call.x,
                       .a_row_stride = call.inputs,
                       .b = call.input_weight,
                       .b_row_stride = std::ptrdiff_t{4} * n,
                       .c = call.kept.gates,
                       .c_row_stride = std::ptrdiff_t{4} * n,
                       .bias = call.bias});
  for (int step = 0; step < call.steps; ++step) {
    BeginStep(call, step);
    RunStep(call, step, kernels);
  }
  if (call.state == nullptr) return;
  const std::ptrdiff_t last = At(call.steps - 1, rows, n);
  for (int row = 0; row < rows; ++row) {
    float* const state = call.state + At(2, row, n);
    std::copy_n(call.output + last + At(1, row, n), n, state);
    std::copy_n(call.kept.cell + last + At(1, row, n), n, state + n);
  }
}

std::size_t LstmBackwardScratchFloats(int rows, int inputs, int hidden) {
  return At(2, rows, hidden) + At(4, hidden, hidden + inputs);
}

void LstmBackward(const LstmBackwardCall& call, const LayerGradientKernels& kernels) {
  const int n = call.hidden, all = call.steps * call.rows;
  const DenseKernels& dense = *kernels.forward->dense;
  const Scratch s(call);
  StartBackward(call, s, dense);
  for (int step = call.steps - 1; step >= 0; --step) StepBack(call, step, s, kernels);
  const float* const dz = call.kept.gates;
  AddOuterProducts(dense, all, call.inputs, 4 * n, call.x, dz, call.d_input_weight);
  AddOuterProducts(dense, all, n, 4 * n, call.kept.hidden_before, dz, call.d_hidden_weight);
  dense.add_column_sums(all, 4 * n, dz, std::ptrdiff_t{4} * n, call.d_bias);
  if (call.d_x != nullptr)
    MultiplyByTranspose(dense, all, call.inputs, 4 * n, dz, call.input_weight, s.input_turned,
                        call.d_x);
  if (call.d_state0 == nullptr) return;
  for (int row = 0; row < call.rows; ++row) {
    float* const to = call.d_state0 + At(2, row, n);
    std::copy_n(s.d_hidden + At(1, row, n), n, to);
    std::copy_n(s.d_cell + At(1, row, n), n, to + n);
  }
}

}  // namespace murmurate
