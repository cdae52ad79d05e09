#include "server/compute/gru_sequence.h"

#include <algorithm>

#include "server/compute/recurrence.h"

namespace murmurate {
namespace {

/// Row `step` of a block of [T][rows][width].
std::ptrdiff_t At(int step, int rows, int width) { return std::ptrdiff_t{step} * rows * width; }

void RunStep(const GruForwardCall& call, int step, const LayerKernels& kernels) {
  const int n = call.hidden, rows = call.rows;
  const std::ptrdiff_t at = At(step, rows, n);
  float* const before = call.kept.hidden_before + at;
  const float* const h = step == 0 ? call.state0 : call.output + At(step - 1, rows, n);
  CopyUnlessFirst(rows, n, call.first + At(step, rows, 1), h, n, before, n);
  kernels.dense->gemm({.rows = rows,
                       .columns = 3 * n,
                       .depth = n,
                       .a = before,
                       .a_row_stride = n,
                       .b = call.hidden_weight,
                       .b_row_stride = std::ptrdiff_t{3} * n,
                       .c = call.kept.candidate + 3 * at,
                       .c_row_stride = std::ptrdiff_t{3} * n});
  kernels.gru_cell({.rows = rows,
                    .hidden = n,
                    .gates = call.kept.gates + 3 * at,
                    .candidate = call.kept.candidate + 3 * at,
                    .hidden_bias = call.hidden_bias,
                    .keep = true,
                    .before = before,
                    .output = call.output + at});
}

/// Scratch of Backward: the gradient that steps back and what passes by z, then the weights turned.
struct Scratch {
  float *d_hidden, *product, *hidden_turned, *input_turned;

  Scratch(const GruBackwardCall& call)
      : d_hidden(call.scratch),
        product(d_hidden + At(1, call.rows, call.hidden)),
        hidden_turned(product + At(1, call.rows, call.hidden)),
        input_turned(hidden_turned + At(3, call.hidden, call.hidden)) {}
};

void StartBackward(const GruBackwardCall& call, const Scratch& s, const DenseKernels& dense) {
  const int n = call.hidden;
  if (call.d_state == nullptr)
    std::fill_n(s.d_hidden, At(1, call.rows, n), 0.0f);
  else
    std::copy_n(call.d_state, At(1, call.rows, n), s.d_hidden);
  if (call.rows > kFewRows) dense.transpose(n, 3 * n, call.hidden_weight, s.hidden_turned);
  if (call.d_x != nullptr && call.steps * call.rows > kFewRows)
    dense.transpose(call.inputs, 3 * n, call.input_weight, s.input_turned);
}

void StepBack(const GruBackwardCall& call, int step, const Scratch& s,
              const LayerGradientKernels& kernels) {
  const int n = call.hidden, rows = call.rows;
  const std::ptrdiff_t at = At(step, rows, n);
  float* const candidate = call.kept.candidate + 3 * at;
  kernels.gru_cell({.rows = rows,
                    .hidden = n,
                    .gates = call.kept.gates + 3 * at,
                    .candidate = candidate,
                    .before = call.kept.hidden_before + at,
                    .d_output = call.d_output + at,
                    .d_hidden = s.d_hidden});
  MultiplyByTranspose(*kernels.forward->dense, rows, n, 3 * n, candidate, call.hidden_weight,
                      s.hidden_turned, s.product);
  const std::uint8_t* const first = call.first + At(step, rows, 1);
  for (int row = 0; row < rows; ++row) {
    float* const d = s.d_hidden + At(1, row, n);
    const float* const more = s.product + At(1, row, n);
    for (int j = 0; j < n; ++j) d[j] = first[row] != 0 ? 0.0f : d[j] + more[j];
  }
}

}  // namespace

std::size_t GruKeptFloats(int steps, int rows, int hidden) { return 7 * At(steps, rows, hidden); }

GruKept GruKeptIn(int steps, int rows, int hidden, float* block) {
  const std::ptrdiff_t one = At(steps, rows, hidden);
  return {.gates = block, .candidate = block + 3 * one, .hidden_before = block + 6 * one};
}

void GruForward(const GruForwardCall& call, const LayerKernels& kernels) {
  const int n = call.hidden;
  kernels.dense->gemm({.rows = call.steps * call.rows,
                       .columns = 3 * n,
                       .depth = call.inputs,
                       .a = call.x,
                       .a_row_stride = call.inputs,
                       .b = call.input_weight,
                       .b_row_stride = std::ptrdiff_t{3} * n,
                       .c = call.kept.gates,
                       .c_row_stride = std::ptrdiff_t{3} * n,
                       .bias = call.bias});
  for (int step = 0; step < call.steps; ++step) RunStep(call, step, kernels);
  if (call.state != nullptr)
    std::copy_n(call.output + At(call.steps - 1, call.rows, n), At(1, call.rows, n), call.state);
}

std::size_t GruBackwardScratchFloats(int rows, int inputs, int hidden) {
  return At(2, rows, hidden) + At(3, hidden, hidden + inputs);
}

void GruBackward(const GruBackwardCall& call, const LayerGradientKernels& kernels) {
  const int n = call.hidden, all = call.steps * call.rows;
  const DenseKernels& dense = *kernels.forward->dense;
  const Scratch s(call);
  StartBackward(call, s, dense);
  for (int step = call.steps - 1; step >= 0; --step) StepBack(call, step, s, kernels);
  const float* const dz = call.kept.gates;
  const float* const dq = call.kept.candidate;
  AddOuterProducts(dense, all, call.inputs, 3 * n, call.x, dz, call.d_input_weight);
  AddOuterProducts(dense, all, n, 3 * n, call.kept.hidden_before, dq, call.d_hidden_weight);
  dense.add_column_sums(all, 3 * n, dz, std::ptrdiff_t{3} * n, call.d_bias);
  dense.add_column_sums(all, n, dq + At(2, 1, n), std::ptrdiff_t{3} * n, call.d_hidden_bias);
  if (call.d_x != nullptr)
    MultiplyByTranspose(dense, all, call.inputs, 3 * n, dz, call.input_weight, s.input_turned,
                        call.d_x);
  if (call.d_state0 != nullptr) std::copy_n(s.d_hidden, At(1, call.rows, n), call.d_state0);
}

}  // namespace murmurate
