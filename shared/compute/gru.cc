#include "shared/compute/gru.h"

#include <algorithm>

#include "shared/compute/packed_weight.h"

namespace murmurate {

std::size_t GruStepScratchFloats(int rows, int hidden) {
  return static_cast<std::size_t>(rows) * 6 * hidden;
}

void GruStep(const GruStepCall& call, const LayerKernels& kernels) {
  const int n = call.hidden;
  float* const candidate = call.scratch + std::ptrdiff_t{call.rows} * 3 * n;
  GemmCall product = {.rows = call.rows,
                      .columns = 3 * n,
                      .depth = call.inputs,
                      .a = call.x,
                      .a_row_stride = call.x_row_stride != 0 ? call.x_row_stride : call.inputs,
                      .b = call.input_weight,
                      .b_row_stride = std::ptrdiff_t{3} * n,
                      .c = call.scratch,
                      .c_row_stride = std::ptrdiff_t{3} * n,
                      .bias = call.bias};
  const auto multiply = [&] {
    call.packed ? PackedGemm(product, *kernels.dense) : kernels.dense->gemm(product);
  };
  multiply();
  product.depth = n;
  product.a = call.state;
  product.a_row_stride = n;
  product.b = call.hidden_weight;
  product.c = candidate;
  product.bias = nullptr;
  multiply();
  kernels.gru_cell({.rows = call.rows,
                    .hidden = n,
                    .gates = call.scratch,
                    .candidate = candidate,
                    .hidden_bias = call.hidden_bias,
                    .before = call.state,
                    .output = call.state});
  if (call.output != nullptr) std::copy_n(call.state, std::ptrdiff_t{call.rows} * n, call.output);
}

}  // namespace murmurate
