#include <algorithm>

#include "server/compute/pool_and_norm_gradient.h"
#include "server/network/network_layer.h"

namespace murmurate {
namespace {

class NormLayer : public NetworkLayer {
 public:
  NormLayer(const LayerRequest& request)
      : NetworkLayer(request.planned, request.in, request.room),
        places_(static_cast<int>(in_count()) / planned_.in.channels),
        gain_(room_->layout.Find(planned_.name + ".gain").offset),
        shift_(room_->layout.Find(planned_.name + ".shift").offset),
        kept_(static_cast<std::size_t>(room_->max_rows) * places_ * 2),
        unwanted_(static_cast<std::size_t>(planned_.in.channels) * 2) {
    AllocateOutput();
  }

  void Forward(const float* parameters, int first, int count) override {
    LayerNormForward({count * places_, planned_.in.channels, in_->Row(first), parameters + gain_,
                      parameters + shift_, Output(first), Kept(first)},
                     *room_->kernels.forward);
  }
  float* Backward(const LayerBackward& call) override {
    const bool wanted = call.gradient != nullptr;
    if (!wanted) std::ranges::fill(unwanted_, 0.0f);
    LayerNormBackward(
        {call.count * places_, planned_.in.channels, in_->Row(call.first), call.parameters + gain_,
         Kept(call.first), call.dy, call.dy, wanted ? call.gradient + gain_ : unwanted_.data(),
         wanted ? call.gradient + shift_ : unwanted_.data() + planned_.in.channels},
        room_->kernels);
    return call.dy;
  }

 private:
  float* Kept(int row) { return kept_.data() + std::ptrdiff_t{2} * places_ * row; }

  const int places_;  ///< of a picture; 1 for a vector
  const std::size_t gain_, shift_;
  AlignedFloats kept_;
  AlignedFloats unwanted_;  ///< the gradient of gain and shift where the caller wants none
};

/// Its gradient is its activation's, which the caller applies.
class ActivationLayer : public NetworkLayer {
 public:
  ActivationLayer(const LayerRequest& request)
      : NetworkLayer(request.planned, request.in, request.room) {
    AllocateOutput();
  }
  void Forward(const float*, int first, int count) override {
    const std::size_t floats = in_count() * count;
    std::copy_n(in_->Row(first), floats, Output(first));
    room_->kernels.forward->apply(ForwardEpilogue(activation()), floats, nullptr, Output(first));
  }
  float* Backward(const LayerBackward& call) override { return call.dy; }
};

/// Lets its rows through; AddLayer adds them, and leaves the gradient that goes around.
class ResidualLayer : public NetworkLayer {
 public:
  ResidualLayer(const LayerRequest& request)
      : NetworkLayer(request.planned, request.in, request.room),
        around_(in_count() * request.at_once) {}
  void Forward(const float*, int, int) override { out_ = *in_; }
  float* Backward(const LayerBackward& call) override {
    room_->kernels.forward->add(in_count() * call.count, around_.data(), call.dy);
    return call.dy;
  }
  void Keep(const float* gradient, int count) {
    std::copy_n(gradient, in_count() * count, around_.data());
  }

 private:
  AlignedFloats around_;  ///< [at_once][in]
};

class AddLayer : public NetworkLayer {
 public:
  AddLayer(const LayerRequest& request)
      : NetworkLayer(request.planned, request.in, request.room),
        residual_(static_cast<ResidualLayer*>(request.open)) {
    AllocateOutput();
  }
  void Forward(const float*, int first, int count) override {
    const std::size_t floats = in_count() * count;
    std::copy_n(in_->Row(first), floats, Output(first));
    room_->kernels.forward->add(floats, residual_->in().Row(first), Output(first));
  }
  float* Backward(const LayerBackward& call) override {
    residual_->Keep(call.dy, call.count);
    return call.dy;
  }

 private:
  ResidualLayer* const residual_;
};

constexpr LayerMaker kMakers[] = {{Layer::Kind::kLayerNorm, MakeLayer<NormLayer>},
                                  {Layer::Kind::kActivation, MakeLayer<ActivationLayer>},
                                  {Layer::Kind::kResidual, MakeLayer<ResidualLayer>},
                                  {Layer::Kind::kAdd, MakeLayer<AddLayer>}};

}  // namespace

std::span<const LayerMaker> ElementwiseLayers() { return kMakers; }

}  // namespace murmurate
