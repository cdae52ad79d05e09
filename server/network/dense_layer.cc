#include "server/network/dense_layer.h"

#include "server/compute/gemm.h"

namespace murmurate {

DenseLayer::DenseLayer(const LayerRequest& request, bool head)
    : NetworkLayer(request.planned, request.in, request.room),
      weight_(room_->layout.Find(planned_.name + ".weight").offset),
      bias_(room_->layout.Find(planned_.name + ".bias").offset) {
  if (!head) AllocateOutput();
  if (request.needs_input_gradient)
    transposed_ = AlignedFloats(static_cast<std::size_t>(inputs()) * outputs());
}

void DenseLayer::Run(const float* parameters, int first, int count, float* y) const {
  Gemm({.rows = count,
        .columns = outputs(),
        .depth = inputs(),
        .a = in_->Row(first),
        .a_row_stride = in_->stride,
        .b = parameters + weight_,
        .b_row_stride = outputs(),
        .c = y,
        .c_row_stride = outputs(),
        .bias = parameters + bias_,
        .epilogue = ForwardEpilogue(activation())});
}

void DenseLayer::Forward(const float* parameters, int first, int count) {
  Run(parameters, first, count, Output(first));
}

void DenseLayer::TransposeWeights(const float* parameters) {
  if (!has_input_gradient()) return;
  room_->kernels.forward->dense->transpose(inputs(), outputs(), parameters + weight_,
                                           transposed_.data());
}

void DenseLayer::AddGradient(const LayerBackward& call) const {
  Gemm({.rows = inputs(),
        .columns = outputs(),
        .depth = call.count,
        .a = in_->Row(call.first),
        .a_row_stride = 1,
        .a_column_stride = in_->stride,
        .b = call.dy,
        .b_row_stride = outputs(),
        .c = call.gradient + weight_,
        .c_row_stride = outputs(),
        .accumulate = true});
  room_->kernels.forward->dense->add_column_sums(call.count, outputs(), call.dy, outputs(),
                                                 call.gradient + bias_);
}

void DenseLayer::InputGradient(const LayerBackward& call, bool accumulate) const {
  Gemm({.rows = call.count,
        .columns = inputs(),
        .depth = outputs(),
        .a = call.dy,
        .a_row_stride = outputs(),
        .b = transposed_.data(),
        .b_row_stride = inputs(),
        .c = call.dx,
        .c_row_stride = inputs(),
        .accumulate = accumulate,
        .epilogue = call.below,
        .output = in_->Row(call.first),
        .output_row_stride = in_->stride});
}

float* DenseLayer::Backward(const LayerBackward& call) {
  if (call.gradient != nullptr) AddGradient(call);
  if (call.dx != nullptr) InputGradient(call, false);
  return call.dx;
}

}  // namespace murmurate
