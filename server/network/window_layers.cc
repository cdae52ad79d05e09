#include "server/compute/convolution_gradient.h"
#include "server/compute/pool_and_norm_gradient.h"
#include "server/network/network_layer.h"

namespace murmurate {
namespace {

class ConvLayer : public NetworkLayer {
 public:
  ConvLayer(const LayerRequest& request)
      : NetworkLayer(request.planned, request.in, request.room),
        window_(WindowOf(planned_)),
        weight_(room_->layout.Find(planned_.name + ".weight").offset),
        bias_(room_->layout.Find(planned_.name + ".bias").offset) {
    AllocateOutput();
    room_->WantScratch(ConvForwardScratchFloats(window_, request.at_once));
    room_->WantScratch(ConvBackwardScratchFloats(window_, planned_.layer.units, request.at_once));
  }

  void Forward(const float* parameters, int first, int count) override {
    ConvForward({.window = window_,
                 .filters = planned_.layer.units,
                 .images = count,
                 .input = Input(first),
                 .bytes = Bytes(first),
                 .weight = parameters + weight_,
                 .bias = parameters + bias_,
                 .epilogue = ForwardEpilogue(activation()),
                 .output = Output(first),
                 .scratch = room_->scratch.data(),
                 .image_stride = ImageStride()},
                *room_->kernels.forward);
  }

  float* Backward(const LayerBackward& call) override {
    ConvBackward({.window = window_,
                  .filters = planned_.layer.units,
                  .images = call.count,
                  .input = Input(call.first),
                  .bytes = Bytes(call.first),
                  .weight = call.parameters + weight_,
                  .d_sums = call.dy,
                  .d_weight = call.gradient == nullptr ? nullptr : call.gradient + weight_,
                  .d_bias = call.gradient == nullptr ? nullptr : call.gradient + bias_,
                  .d_input = call.dx,
                  .input_epilogue = call.below,
                  .scratch = room_->scratch.data(),
                  .image_stride = ImageStride()},
                 room_->kernels);
    return call.dx;
  }
  bool fuses() const override { return true; }

 private:
  const float* Input(int first) const { return in_->bytes != nullptr ? nullptr : in_->Row(first); }
  const std::uint8_t* Bytes(int first) const {
    return in_->bytes == nullptr ? nullptr : in_->bytes + in_->stride * first;
  }
  std::ptrdiff_t ImageStride() const {
    return in_->stride == static_cast<std::ptrdiff_t>(in_count()) ? 0 : in_->stride;
  }

  const Window window_;
  const std::size_t weight_, bias_;
};

class MaxPoolLayer : public NetworkLayer {
 public:
  MaxPoolLayer(const LayerRequest& request)
      : NetworkLayer(request.planned, request.in, request.room), window_(WindowOf(planned_)) {
    AllocateOutput();
    winner_ = AlignedFloats(output_.size());
  }

  void Forward(const float*, int first, int count) override {
    MaxPoolForward({window_, count, in_->Row(first), Output(first), Winner(first)},
                   *room_->kernels.forward);
  }
  float* Backward(const LayerBackward& call) override {
    if (call.dx != nullptr)
      MaxPoolBackward({window_, call.count, Winner(call.first), call.dy, call.dx}, room_->kernels);
    return call.dx;
  }

 private:
  float* Winner(int row) { return winner_.data() + static_cast<std::size_t>(row) * out_count(); }

  const Window window_;
  AlignedFloats winner_;
};

constexpr LayerMaker kMakers[] = {{Layer::Kind::kConv, MakeLayer<ConvLayer>},
                                  {Layer::Kind::kMaxPool, MakeLayer<MaxPoolLayer>}};

}  // namespace

std::span<const LayerMaker> WindowLayers() { return kMakers; }

}  // namespace murmurate
