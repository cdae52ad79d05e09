#include "shared/inference/policy_steps.h"

#include <algorithm>
#include <cstring>

#include "shared/compute/convolution.h"
#include "shared/compute/layer_norm.h"
#include "shared/compute/max_pool.h"
#include "shared/compute/packed_weight.h"
#include "shared/compute/recurrent.h"
#include "shared/core/check.h"
#include "shared/inference/kernel_terms.h"

namespace murmurate {
namespace {

using Kind = Layer::Kind;

const float* Tensor(const PolicyStep& step, const StepCall& call, int index) {
  return call.steps.data(step.tensors[index]);
}

std::size_t Numbers(const PolicyStep& step, const StepCall& call) {
  return static_cast<std::size_t>(call.rows) * step.inputs;
}

/// The hot step of a small policy: every member is named, for GCC zeroes a whole call that leaves
/// some out by an instruction that takes longer than the head's product.
void Multiply(const PolicyStep& step, const StepCall& call) {
  const PackedTensor& weight = step.tensors[0];
  const bool transposed = weight.form == PackedTensor::Form::kTransposed;
  const DenseKernels& kernels = *call.steps.kernels->dense;
  const GemmCall product = {.rows = call.rows,
                            .columns = step.outputs,
                            .depth = step.inputs,
                            .a = call.in.x,
                            .a_row_stride = call.in.stride,
                            .a_column_stride = 1,
                            .b = transposed ? nullptr : Tensor(step, call, 0),
                            .b_row_stride = step.outputs,
                            .b_transposed = transposed ? Tensor(step, call, 0) : nullptr,
                            .c = call.out,
                            .c_row_stride = step.outputs,
                            .bias = Tensor(step, call, 1),
                            .accumulate = false,
                            .epilogue = step.epilogue,
                            .output = nullptr,
                            .output_row_stride = 0};
  if (weight.form == PackedTensor::Form::kPanels) return PackedGemm(product, kernels);
  kernels.gemm(product);
}

void Convolve(const PolicyStep& step, const StepCall& call) {
  ConvForward({.window = step.window,
               .filters = step.tensors[0].columns,
               .images = call.rows,
               .input = call.in.x,
               .bytes = call.in.bytes,
               .weight = Tensor(step, call, 0),
               .bias = Tensor(step, call, 1),
               .epilogue = step.epilogue,
               .output = call.out,
               .scratch = call.scratch,
               .image_stride = call.in.stride},
              *call.steps.kernels);
}
std::size_t ConvolveScratch(const PolicyStep& step, int rows) {
  return ConvForwardScratchFloats(step.window, rows);
}

void Pool(const PolicyStep& step, const StepCall& call) {
  MaxPoolForward(
      {.window = step.window, .images = call.rows, .input = call.in.x, .output = call.out},
      *call.steps.kernels);
}

void Norm(const PolicyStep& step, const StepCall& call) {
  const int columns = step.tensors[0].columns;
  LayerNormForward({.rows = static_cast<int>(Numbers(step, call)) / columns,
                    .columns = columns,
                    .input = call.in.x,
                    .gain = Tensor(step, call, 0),
                    .shift = Tensor(step, call, 1),
                    .output = call.out},
                   *call.steps.kernels);
}

void Apply(const PolicyStep& step, const StepCall& call) {
  std::copy_n(call.in.x, Numbers(step, call), call.out);
  call.steps.kernels->apply(step.epilogue, Numbers(step, call), nullptr, call.out);
}

void Keep(const PolicyStep& step, const StepCall& call) {
  call.in.Copy(call.rows, step.inputs, call.kept, step.inputs);
}

void Add(const PolicyStep& step, const StepCall& call) {
  std::copy_n(call.in.x, Numbers(step, call), call.out);
  call.steps.kernels->add(Numbers(step, call), call.kept, call.out);
}

/// One row at a time where the states of several layers lie between each other.
void Recur(const PolicyStep& step, const StepCall& call) {
  MURMURATE_CHECK(call.states != nullptr, "a recurrent model needs its agents' states");
  const RecurrentCell& cell = CellOf(step.kind);
  const int all = call.steps.plan.state_floats;
  const int at_once = cell.state_parts * step.outputs == all ? call.rows : 1;
  for (std::ptrdiff_t row = 0; row < call.rows; row += at_once) {
    RecurrentStep(cell,
                  {.rows = at_once,
                   .inputs = step.inputs,
                   .hidden = step.outputs,
                   .x = call.in.x + row * step.inputs,
                   .input_weight = Tensor(step, call, 0),
                   .hidden_weight = Tensor(step, call, 1),
                   .packed = true,
                   .bias = Tensor(step, call, 2),
                   .hidden_bias = Tensor(step, call, 3),
                   .state = call.states + row * all + step.state,
                   .output = call.out + row * step.outputs,
                   .scratch = call.scratch},
                  *call.steps.kernels);
  }
}
std::size_t RecurScratch(const PolicyStep& step, int rows) {
  return RecurrentStepScratchFloats(CellOf(step.kind), rows, step.outputs);
}

constexpr LayerOp kOps[] = {
    {Kind::kDense, Multiply},
    {Kind::kConv, Convolve, ConvolveScratch},
    {Kind::kMaxPool, Pool},
    {Kind::kFlatten},
    {Kind::kLayerNorm, Norm},
    {Kind::kActivation, Apply},
    {.kind = Kind::kResidual, .run = Keep, .passes = true},
    {Kind::kAdd, Add},
    {Kind::kLstm, Recur, RecurScratch},
    {Kind::kGru, Recur, RecurScratch},
};

}  // namespace

void Flow::Copy(int rows, int count, float* to, std::ptrdiff_t to_stride) const {
  for (int row = 0; row < rows; ++row)
    std::memcpy(to + row * to_stride, x + row * stride,
                static_cast<std::size_t>(count) * sizeof(float));
}

const LayerOp& OpOf(Layer::Kind kind) {
  const auto* const op = std::find_if(std::begin(kOps), std::end(kOps),
                                      [&](const LayerOp& one) { return one.kind == kind; });
  MURMURATE_CHECK(op != std::end(kOps), "a client runs every kind of layer");
  return *op;
}

}  // namespace murmurate
