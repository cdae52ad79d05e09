#include "tests/device/host_library.h"

#include <algorithm>
#include <vector>

#include "server/compute/convolution_gradient.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/gemm.h"
#include "shared/compute/convolution.h"

namespace murmurate {
namespace {

std::size_t MatrixExtent(int rows, int columns, std::ptrdiff_t stride) {
  return static_cast<std::size_t>((rows - 1) * stride + columns);
}

Window WindowOf(const ConvolutionCall& call) {
  return {call.height,
          call.width,
          call.channels,
          {call.kernel, call.kernel},
          {call.stride, call.stride},
          {call.padding, call.padding}};
}

using Floats = std::vector<float>;

Floats WidenedBlock(const void* block, std::size_t count) {
  Floats floats(count);
  for (std::size_t i = 0; i < count; ++i) floats[i] = ReadNumber(block, ElementType::kBf16, i);
  return floats;
}
void NarrowBlock(const Floats& floats, void* block) {
  for (std::size_t i = 0; i < floats.size(); ++i)
    WriteNumber(block, ElementType::kBf16, i, floats[i]);
}
Floats Rounded(Floats floats) {
  for (float& number : floats) number = Widened(Narrowed<Bf16>(number));
  return floats;
}

void Forward(const ConvolutionCall& call) {
  const Window window = WindowOf(call);
  std::vector<float> scratch(ConvForwardScratchFloats(window, call.images));
  ConvForward({.window = window,
               .filters = call.filters,
               .images = call.images,
               .input = static_cast<const float*>(call.input),
               .weight = call.weight,
               .output = static_cast<float*>(call.output),
               .scratch = scratch.data()});
}

void Backward(const ConvolutionCall& call) {
  const Window window = WindowOf(call);
  std::vector<float> scratch(ConvBackwardScratchFloats(window, call.filters, call.images));
  const bool weights = call.kind == ConvolutionCall::Kind::kWeightGradient;
  float* const input = static_cast<float*>(call.input);
  if (weights) std::fill_n(call.weight, ExtentsOf(call).weight, 0.0f);
  ConvBackward({.window = window,
                .filters = call.filters,
                .images = call.images,
                .input = weights ? input : nullptr,
                .weight = weights ? nullptr : call.weight,
                .d_sums = static_cast<const float*>(call.output),
                .d_weight = weights ? call.weight : nullptr,
                .d_input = weights ? nullptr : input,
                .scratch = scratch.data()});
}

void ConvolveFloats(const ConvolutionCall& call) {
  if (call.kind == ConvolutionCall::Kind::kForward) return Forward(call);
  Backward(call);
}

/// By sums of 32 bits over rounded numbers; what it gives is rounded, too.
void ConvolveBf16(const ConvolutionCall& call) {
  using Kind = ConvolutionCall::Kind;
  const ConvolutionExtents extents = ExtentsOf(call);
  Floats input(extents.input), weight(extents.weight), output(extents.output);
  if (call.kind != Kind::kInputGradient) input = WidenedBlock(call.input, extents.input);
  if (call.kind != Kind::kForward) output = WidenedBlock(call.output, extents.output);
  if (call.kind != Kind::kWeightGradient)
    weight = Rounded(Floats(call.weight, call.weight + extents.weight));
  ConvolutionCall floats = call;
  floats.input = input.data();
  floats.weight = weight.data();
  floats.output = output.data();
  ConvolveFloats(floats);
  if (call.kind == Kind::kForward) NarrowBlock(output, call.output);
  if (call.kind == Kind::kInputGradient) NarrowBlock(input, call.input);
  if (call.kind == Kind::kWeightGradient) std::ranges::copy(Rounded(weight), call.weight);
}

}  // namespace

void HostMultiply(const ProductCall& call) {
  GemmCall gemm = {.rows = call.rows,
                   .columns = call.columns,
                   .depth = call.depth,
                   .a = call.a,
                   .a_row_stride = call.a_transposed ? 1 : call.a_stride,
                   .a_column_stride = call.a_transposed ? call.a_stride : 1,
                   .b = call.b,
                   .b_row_stride = call.b_stride,
                   .c = call.c,
                   .c_row_stride = call.c_stride,
                   .accumulate = call.accumulate};
  std::vector<float> b;
  if (call.b_transposed) {
    b.resize(static_cast<std::size_t>(call.depth) * call.columns);
    for (int column = 0; column < call.columns; ++column)
      for (int k = 0; k < call.depth; ++k)
        b[static_cast<std::size_t>(k) * call.columns + column] = call.b[column * call.b_stride + k];
    gemm.b = b.data();
    gemm.b_row_stride = call.columns;
  }
  Gemm(gemm);
}

void HostConvolve(const ConvolutionCall& call) {
  if (call.pictures == ElementType::kBf16) return ConvolveBf16(call);
  ConvolveFloats(call);
}

ProductExtents ExtentsOf(const ProductCall& call) {
  return {.a = call.a_transposed ? MatrixExtent(call.depth, call.rows, call.a_stride)
                                 : MatrixExtent(call.rows, call.depth, call.a_stride),
          .b = call.b_transposed ? MatrixExtent(call.columns, call.depth, call.b_stride)
                                 : MatrixExtent(call.depth, call.columns, call.b_stride),
          .c = MatrixExtent(call.rows, call.columns, call.c_stride)};
}

ConvolutionExtents ExtentsOf(const ConvolutionCall& call) {
  const Extent out = OutputExtent(WindowOf(call));
  const auto images = static_cast<std::size_t>(call.images);
  return {
      .input = images * call.height * call.width * call.channels,
      .weight = static_cast<std::size_t>(call.kernel) * call.kernel * call.channels * call.filters,
      .output = images * out.height * out.width * call.filters};
}

}  // namespace murmurate
