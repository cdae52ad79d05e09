#include "server/compute/recurrent_sequence.h"

#include <algorithm>

namespace murmurate {
namespace {

/// Row `step` of a block of [T][rows][width].
std::ptrdiff_t At(int step, int rows, int width) { return std::ptrdiff_t{step} * rows * width; }

/// to[row] = from[row], or zeros where first[row] is 1 or `from` is null; `count` numbers a row.
void CopyUnlessFirst(int rows, int count, const std::uint8_t* first, const float* from,
                     std::ptrdiff_t from_stride, float* to) {
  for (int row = 0; row < rows; ++row, to += count) {
    if (from == nullptr || first[row] != 0)
      std::fill_n(to, count, 0.0f);
    else
      std::copy_n(from + row * from_stride, count, to);
  }
}

/// Rows up to kFewRows go along the rows of a weight as it lies; more need it transposed.
constexpr int kFewRows = 8;

/// dx = dz weight^T with dz [rows][columns], weight [depth][columns] and dx [rows][depth];
/// `transposed` is [columns][depth].
void MultiplyByTranspose(const DenseKernels& kernels, int rows, int depth, int columns,
                         const float* dz, const float* weight, const float* transposed, float* dx) {
  GemmCall call = {.rows = rows,
                   .columns = depth,
                   .depth = columns,
                   .a = dz,
                   .a_row_stride = columns,
                   .c = dx,
                   .c_row_stride = depth};
  if (rows <= kFewRows) {
    call.b_transposed = weight;
  } else {
    call.b = transposed;
    call.b_row_stride = depth;
  }
  kernels.gemm(call);
}

/// d_weight += x^T dz with x [rows][depth] and dz [rows][columns].
void AddOuterProducts(const DenseKernels& kernels, int rows, int depth, int columns, const float* x,
                      const float* dz, float* d_weight) {
  kernels.gemm({.rows = depth,
                .columns = columns,
                .depth = rows,
                .a = x,
                .a_row_stride = 1,
                .a_column_stride = depth,
                .b = dz,
                .b_row_stride = columns,
                .c = d_weight,
                .c_row_stride = columns,
                .accumulate = true});
}

/// The state that step `step` begins with.
void BeginStep(const RecurrentCell& cell, const RecurrentForwardCall& call, int step) {
  const int n = call.hidden, rows = call.rows;
  const float* const after[2] = {call.output, call.kept.cell};
  float* const before[2] = {call.kept.hidden_before, call.kept.cell_before};
  for (int part = 0; part < cell.state_parts; ++part) {
    const float* from = call.state0 != nullptr ? call.state0 + At(part, 1, n) : nullptr;
    std::ptrdiff_t stride = At(cell.state_parts, 1, n);
    if (step > 0) {
      from = after[part] + At(step - 1, rows, n);
      stride = n;
    }
    CopyUnlessFirst(rows, n, call.first + At(step, rows, 1), from, stride,
                    before[part] + At(step, rows, n));
  }
}

void RunStep(const RecurrentCell& cell, const RecurrentForwardCall& call, int step,
             const LayerKernels& kernels) {
  const int n = call.hidden, rows = call.rows, columns = cell.gates * n;
  const std::ptrdiff_t at = At(step, rows, n);
  const RecurrentKept& kept = call.kept;
  float* const gates = kept.gates + cell.gates * at;
  float* const candidate = cell.candidate ? kept.candidate + cell.gates * at : nullptr;
  kernels.dense->gemm({.rows = rows,
                       .columns = columns,
                       .depth = n,
                       .a = kept.hidden_before + at,
                       .a_row_stride = n,
                       .b = call.hidden_weight,
                       .b_row_stride = columns,
                       .c = cell.candidate ? candidate : gates,
                       .c_row_stride = columns,
                       .accumulate = !cell.candidate});
  const bool has_cell = cell.state_parts > 1;
  kernels.cell[cell.index]({.rows = rows,
                            .hidden = n,
                            .gates = gates,
                            .candidate = candidate,
                            .hidden_bias = call.hidden_bias,
                            .keep = true,
                            .before = (has_cell ? kept.cell_before : kept.hidden_before) + at,
                            .cell = has_cell ? kept.cell + at : nullptr,
                            .output = call.output + at,
                            .before_stride = n,
                            .cell_stride = n,
                            .output_stride = n,
                            .cell_tanh = has_cell ? kept.cell_tanh + at : nullptr});
}

/// Scratch of Backward: the gradients that step back, then the weights transposed. The second block
/// is the gradient of c, or the product that comes to h through the candidate.
struct Scratch {
  float *d_hidden, *second, *hidden_transposed, *input_transposed;

  Scratch(const RecurrentCell& cell, const RecurrentBackwardCall& call)
      : d_hidden(call.scratch),
        second(d_hidden + At(1, call.rows, call.hidden)),
        hidden_transposed(second + At(1, call.rows, call.hidden)),
        input_transposed(hidden_transposed + At(cell.gates, call.hidden, call.hidden)) {}
};

void StartBackward(const RecurrentCell& cell, const RecurrentBackwardCall& call, const Scratch& s,
                   const DenseKernels& dense) {
  const int n = call.hidden, columns = cell.gates * n;
  float* const parts[2] = {s.d_hidden, s.second};
  for (int part = 0; part < cell.state_parts; ++part)
    for (int row = 0; row < call.rows; ++row) {
      float* const to = parts[part] + At(1, row, n);
      if (call.d_state == nullptr)
        std::fill_n(to, n, 0.0f);
      else
        std::copy_n(call.d_state + At(cell.state_parts, row, n) + At(part, 1, n), n, to);
    }
  if (call.rows > kFewRows) dense.transpose(n, columns, call.hidden_weight, s.hidden_transposed);
  if (call.d_x != nullptr && call.steps * call.rows > kFewRows)
    dense.transpose(call.inputs, columns, call.input_weight, s.input_transposed);
}

void StepBack(const RecurrentCell& cell, const RecurrentBackwardCall& call, int step,
              const Scratch& s, const LayerGradientKernels& kernels) {
  const int n = call.hidden, rows = call.rows;
  const std::ptrdiff_t at = At(step, rows, n);
  const RecurrentKept& kept = call.kept;
  const bool has_cell = cell.state_parts > 1;
  float* const gates = kept.gates + cell.gates * at;
  float* const candidate = cell.candidate ? kept.candidate + cell.gates * at : nullptr;
  kernels.cell[cell.index]({.rows = rows,
                            .hidden = n,
                            .gates = gates,
                            .candidate = candidate,
                            .before = (has_cell ? kept.cell_before : kept.hidden_before) + at,
                            .cell_tanh = has_cell ? kept.cell_tanh + at : nullptr,
                            .d_output = call.d_output + at,
                            .d_hidden = s.d_hidden,
                            .d_cell = s.second});
  MultiplyByTranspose(*kernels.forward->dense, rows, n, cell.gates * n,
                      cell.candidate ? candidate : gates, call.hidden_weight, s.hidden_transposed,
                      cell.candidate ? s.second : s.d_hidden);
  const std::uint8_t* const first = call.first + At(step, rows, 1);
  for (int row = 0; row < rows; ++row) {
    float* const d = s.d_hidden + At(1, row, n);
    float* const second = s.second + At(1, row, n);
    if (first[row] != 0) {
      std::fill_n(d, n, 0.0f);
      std::fill_n(second, n, 0.0f);
    } else if (cell.candidate) {
      for (int j = 0; j < n; ++j) d[j] += second[j];
    }
  }
}

}  // namespace

std::size_t RecurrentKeptFloats(const RecurrentCell& cell, int steps, int rows, int hidden) {
  return cell.kept_parts() * At(steps, rows, hidden);
}

RecurrentKept RecurrentKeptIn(const RecurrentCell& cell, int steps, int rows, int hidden,
                              float* block) {
  const auto next = [&](int parts) {
    float* const at = block;
    block += parts * At(steps, rows, hidden);
    return parts > 0 ? at : nullptr;
  };
  const int of_cell = cell.state_parts - 1;
  return {.gates = next(cell.gates),
          .candidate = next(cell.candidate ? cell.gates : 0),
          .cell = next(of_cell),
          .cell_tanh = next(of_cell),
          .hidden_before = next(1),
          .cell_before = next(of_cell)};
}

void RecurrentForward(const RecurrentCell& cell, const RecurrentForwardCall& call,
                      const LayerKernels& kernels) {
  const int n = call.hidden, rows = call.rows, columns = cell.gates * n;
  kernels.dense->gemm({.rows = call.steps * rows,
                       .columns = columns,
                       .depth = call.inputs,
                       .a = call.x,
                       .a_row_stride = call.inputs,
                       .b = call.input_weight,
                       .b_row_stride = columns,
                       .c = call.kept.gates,
                       .c_row_stride = columns,
                       .bias = call.bias});
  for (int step = 0; step < call.steps; ++step) {
    BeginStep(cell, call, step);
    RunStep(cell, call, step, kernels);
  }
  if (call.state == nullptr) return;
  const float* const after[2] = {call.output, call.kept.cell};
  for (int row = 0; row < rows; ++row)
    for (int part = 0; part < cell.state_parts; ++part)
      std::copy_n(after[part] + At(call.steps - 1, rows, n) + At(1, row, n), n,
                  call.state + At(cell.state_parts, row, n) + At(part, 1, n));
}

std::size_t RecurrentBackwardScratchFloats(const RecurrentCell& cell, int rows, int inputs,
                                           int hidden) {
  return At(2, rows, hidden) + At(cell.gates, hidden, hidden + inputs);
}

void RecurrentBackward(const RecurrentCell& cell, const RecurrentBackwardCall& call,
                       const LayerGradientKernels& kernels) {
  const int n = call.hidden, all = call.steps * call.rows, columns = cell.gates * n;
  const DenseKernels& dense = *kernels.forward->dense;
  const Scratch s(cell, call);
  StartBackward(cell, call, s, dense);
  for (int step = call.steps - 1; step >= 0; --step) StepBack(cell, call, step, s, kernels);
  const float* const dz = call.kept.gates;
  const float* const dq = cell.candidate ? call.kept.candidate : dz;
  AddOuterProducts(dense, all, call.inputs, columns, call.x, dz, call.d_input_weight);
  AddOuterProducts(dense, all, n, columns, call.kept.hidden_before, dq, call.d_hidden_weight);
  dense.add_column_sums(all, columns, dz, columns, call.d_bias);
  if (cell.candidate) dense.add_column_sums(all, n, dq + columns - n, columns, call.d_hidden_bias);
  if (call.d_x != nullptr)
    MultiplyByTranspose(dense, all, call.inputs, columns, dz, call.input_weight, s.input_transposed,
                        call.d_x);
  if (call.d_state0 == nullptr) return;
  const float* const parts[2] = {s.d_hidden, s.second};
  for (int row = 0; row < call.rows; ++row)
    for (int part = 0; part < cell.state_parts; ++part)
      std::copy_n(parts[part] + At(1, row, n), n,
                  call.d_state0 + At(cell.state_parts, row, n) + At(part, 1, n));
}

}  // namespace murmurate
