#include "shared/compute/lstm.h"

#include <algorithm>

#include "shared/compute/packed_weight.h"

namespace murmurate {

std::size_t LstmStepScratchFloats(int rows, int hidden) {
  return static_cast<std::size_t>(rows) * 4 * hidden;
}

void LstmStep(const LstmStepCall& call, const LayerKernels& kernels) {
  const int n = call.hidden;
  GemmCall product = {.rows = call.rows,
                      .columns = 4 * n,
                      .depth = call.inputs,
                      .a = call.x,
                      .a_row_stride = call.x_row_stride != 0 ? call.x_row_stride : call.inputs,
                      .b = call.input_weight,
                      .b_row_stride = std::ptrdiff_t{4} * n,
                      .c = call.scratch,
                      .c_row_stride = std::ptrdiff_t{4} * n,
                      .bias = call.bias};
  const auto multiply = [&] {
    call.packed ? PackedGemm(product, *kernels.dense) : kernels.dense->gemm(product);
  };
  multiply();
  product.depth = n;
  product.a = call.state;
  product.a_row_stride = std::ptrdiff_t{2} * n;
  product.b = call.hidden_weight;
  product.bias = nullptr;
  product.accumulate = true;
  multiply();
  kernels.lstm_cell({.rows = call.rows,
                     .hidden = n,
                     .gates = call.scratch,
                     .cell_before = call.state + n,
                     .cell = call.state + n,
                     .cell_before_stride = std::ptrdiff_t{2} * n,
                     .cell_stride = std::ptrdiff_t{2} * n,
                     .output_stride = std::ptrdiff_t{2} * n,
                     .output = call.state});
  if (call.output == nullptr) return;
  for (int row = 0; row < call.rows; ++row)
    std::copy_n(call.state + std::ptrdiff_t{row} * 2 * n, n, call.output + std::ptrdiff_t{row} * n);
}

}  // namespace murmurate
