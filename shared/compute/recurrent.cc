#include "shared/compute/recurrent.h"

#include <algorithm>

#include "shared/compute/packed_weight.h"

namespace murmurate {

std::size_t RecurrentStepScratchFloats(const RecurrentCell& cell, int rows, int hidden) {
  return static_cast<std::size_t>(rows) * (cell.candidate ? 2 : 1) * cell.gates * hidden;
}

void RecurrentStep(const RecurrentCell& cell, const RecurrentStepCall& call,
                   const LayerKernels& kernels) {
  const int n = call.hidden, columns = cell.gates * n;
  const std::ptrdiff_t width = std::ptrdiff_t{cell.state_parts} * n;
  float* const candidate = call.scratch + std::ptrdiff_t{call.rows} * columns;
  float* const last_part = call.state + width - n;
  GemmCall product = {.rows = call.rows,
                      .columns = columns,
                      .depth = call.inputs,
                      .a = call.x,
                      .a_row_stride = call.x_row_stride != 0 ? call.x_row_stride : call.inputs,
                      .b = call.input_weight,
                      .b_row_stride = columns,
                      .c = call.scratch,
                      .c_row_stride = columns,
                      .bias = call.bias};
  const auto multiply = [&] {
    call.packed ? PackedGemm(product, *kernels.dense) : kernels.dense->gemm(product);
  };
  multiply();
  product.depth = n;
  product.a = call.state;
  product.a_row_stride = width;
  product.b = call.hidden_weight;
  product.bias = nullptr;
  if (cell.candidate)
    product.c = candidate;
  else
    product.accumulate = true;
  multiply();
  kernels.cell[cell.index]({.rows = call.rows,
                            .hidden = n,
                            .gates = call.scratch,
                            .candidate = candidate,
                            .hidden_bias = call.hidden_bias,
                            .before = last_part,
                            .cell = last_part,
                            .output = call.state,
                            .before_stride = width,
                            .cell_stride = width,
                            .output_stride = width});
  if (call.output == nullptr) return;
  for (std::ptrdiff_t row = 0; row < call.rows; ++row)
    std::copy_n(call.state + row * width, n, call.output + row * n);
}

}  // namespace murmurate
