#include "server/device/device_dense.h"

#include "server/device/device_sums.h"

namespace murmurate {

DeviceDense::DeviceDense(const DeviceLayerRequest& request)
    : DeviceLayer(request.planned, request.in, request.room),
      weight_(room_->Offset(planned_.name + ".weight")),
      bias_(room_->Offset(planned_.name + ".bias")) {
  out_ = room_->Rows(out_count());
  room_->WantProducts();
  room_->WantSums(1, units());
}

void DeviceDense::Forward(const DevicePass& pass) {
  pass.device->Multiply(pass.stream, {.rows = pass.rows.rows,
                                      .columns = units(),
                                      .depth = inputs(),
                                      .a = in_.floats().data(),
                                      .a_stride = inputs(),
                                      .b = pass.parameters + weight_,
                                      .b_stride = units(),
                                      .c = out_.floats().data(),
                                      .c_stride = units()});
  pass.device->Launch(pass.stream, GridOver(pass.Numbers(out_count())),
                      BiasActivationCall{.y = out_.data(),
                                         .bias = pass.parameters + bias_,
                                         .rows = pass.Numbers(1),
                                         .columns = units(),
                                         .activation = OnDevice(planned_.layer.activation)});
}

void DeviceDense::ParameterGradient(const DevicePass& pass, float* dy) {
  if (pass.gradient == nullptr) return BeforeActivation(pass, dy);
  SumColumns(pass, *room_,
             {.dy = dy,
              .rows = pass.Numbers(1),
              .columns = units(),
              .y = out_.data(),
              .activation = OnDevice(planned_.layer.activation)},
             pass.gradient + bias_);
  pass.device->Multiply(pass.stream, {.rows = inputs(),
                                      .columns = units(),
                                      .depth = pass.rows.rows,
                                      .a = in_.floats().data(),
                                      .a_stride = inputs(),
                                      .a_transposed = true,
                                      .b = dy,
                                      .b_stride = units(),
                                      .c = pass.gradient + weight_,
                                      .c_stride = units()});
}

/// What SumColumns does to dy.
void DeviceDense::BeforeActivation(const DevicePass& pass, float* dy) const {
  if (planned_.layer.activation == Activation::kNone) return;
  const std::size_t count = pass.Numbers(out_count());
  pass.device->Launch(pass.stream, GridOver(count),
                      ActivationGradientCall{.dy = dy,
                                             .y = out_.data(),
                                             .count = count,
                                             .activation = OnDevice(planned_.layer.activation)});
}

void DeviceDense::InputGradient(const DevicePass& pass, const float* dy, float* dx,
                                bool accumulate) const {
  pass.device->Multiply(pass.stream, {.rows = pass.rows.rows,
                                      .columns = inputs(),
                                      .depth = units(),
                                      .a = dy,
                                      .a_stride = units(),
                                      .b = pass.parameters + weight_,
                                      .b_stride = units(),
                                      .b_transposed = true,
                                      .c = dx,
                                      .c_stride = inputs(),
                                      .accumulate = accumulate});
}

void* DeviceDense::Backward(const DevicePass& pass, void* dy, void* dx) {
  float* const d_sums = static_cast<float*>(dy);
  ParameterGradient(pass, d_sums);
  if (dx != nullptr) InputGradient(pass, d_sums, static_cast<float*>(dx), false);
  return dx;
}

}  // namespace murmurate
