#include "shared/compute/dense_kernels.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

float Finish(const GemmCall& call, int row, int column, float sum) {
  switch (call.epilogue) {
    case Epilogue::kNone:
      return sum;
    case Epilogue::kTanh:
      return std::tanh(sum);
    case Epilogue::kRelu:
      return std::max(sum, 0.0f);
    case Epilogue::kTanhGradient: {
      const float y = call.output[row * call.output_row_stride + column];
      return sum * (1.0f - y * y);
    }
    case Epilogue::kReluGradient:
      return call.output[row * call.output_row_stride + column] > 0.0f ? sum : 0.0f;
  }
  return sum;
}

void PlainGemm(const GemmCall& call) {
  for (int i = 0; i < call.rows; ++i) {
    float* c = call.c + i * call.c_row_stride;
    for (int j = 0; j < call.columns; ++j) {
      if (!call.accumulate) c[j] = 0.0f;
      if (call.bias) c[j] += call.bias[j];
    }
    for (int k = 0; k < call.depth; ++k) {
      const float a = call.a[i * call.a_row_stride + k * call.a_column_stride];
      const float* b = call.b + k * call.b_row_stride;
      for (int j = 0; j < call.columns; ++j) c[j] += a * b[j];
    }
    for (int j = 0; j < call.columns; ++j) c[j] = Finish(call, i, j, c[j]);
  }
}

void PlainColumnSums(int rows, int columns, const float* values, std::ptrdiff_t row_stride,
                     float* sums) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) sums[j] += values[i * row_stride + j];
}

void PlainTranspose(int rows, int columns, const float* from, float* to) {
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      to[std::ptrdiff_t{j} * rows + i] = from[std::ptrdiff_t{i} * columns + j];
}

void PlainNormalize(int rows, int columns, const float* x, const float* mean, const float* scale,
                    float* y) {
  for (int i = 0; i < rows; ++i, x += columns, y += columns)
    for (int j = 0; j < columns; ++j) y[j] = std::clamp((x[j] - mean[j]) * scale[j], -10.0f, 10.0f);
}

constexpr DenseKernels kPlain{KernelSet::kPlain, "plain",       1, PlainGemm, PlainColumnSums,
                              PlainTranspose,    PlainNormalize};

}  // namespace

const DenseKernels& BestDenseKernels() { return kPlain; }

const DenseKernels* FindDenseKernels(KernelSet set) {
  return set == KernelSet::kPlain ? &kPlain : nullptr;
}

}  // namespace murmurate
