#include "server/network/layer_chain.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {

LayerChain::LayerChain(std::span<const PlannedLayer> layers, const LayerRows* in, bool wants_input,
                       int at_once, GradientPair* pair, LayerRoom* room)
    : in_(in), wants_input_(wants_input), at_once_(at_once), pair_(pair), room_(room) {
  NetworkLayer* open = nullptr;
  bool learns = wants_input;
  std::int64_t widest = 0;
  first_learner_ = -1;
  for (const PlannedLayer& planned : layers) {
    auto layer = MakeNetworkLayer({planned, top(), room, learns, at_once, open});
    widest = std::max({widest, planned.in.count(), planned.out.count()});
    if (layer == nullptr) continue;
    if (planned.layer.form().block == LayerForm::Block::kOpens) open = layer.get();
    if (first_learner_ < 0 && planned.parameters() > 0)
      first_learner_ = static_cast<int>(layers_.size());
    learns = learns || planned.parameters() > 0;
    layers_.push_back(std::move(layer));
  }
  if (first_learner_ < 0) first_learner_ = static_cast<int>(layers_.size());
  pair_->floats = std::max(pair_->floats, static_cast<std::size_t>(widest) * at_once);
}

const LayerRows* LayerChain::top() const { return layers_.empty() ? in_ : &layers_.back()->out(); }

Activation LayerChain::top_activation() const {
  return layers_.empty() ? Activation::kNone : layers_.back()->activation();
}

double LayerChain::flops() const {
  double flops = 0;
  for (int i = 0; i < static_cast<int>(layers_.size()); ++i) {
    const PlannedLayer& planned = layers_[i]->planned();
    const bool below = i > first_learner_ || wants_input_;
    flops += planned.flops() * (1 + (planned.parameters() > 0 ? 1 : 0) + (below ? 1 : 0));
  }
  return flops;
}

void LayerChain::Forward(const float* parameters, int first, int count) {
  for (int done = 0; done < count; done += at_once_) {
    const int rows = std::min(at_once_, count - done);
    for (const auto& layer : layers_) layer->Forward(parameters, first + done, rows);
  }
}

void LayerChain::TransposeWeights(const float* parameters) {
  for (const auto& layer : layers_) layer->TransposeWeights(parameters);
}

float* LayerChain::BackwardChunk(LayerBackward call, bool activation_gradient_applied) {
  const LayerKernels& kernels = *room_->kernels.forward;
  float* dx = call.dy == pair_->even.data() ? pair_->odd.data() : pair_->even.data();
  float* other = dx == pair_->odd.data() ? pair_->even.data() : pair_->odd.data();
  const auto apply = [&](const NetworkLayer& layer) {
    if (layer.activation() == Activation::kNone) return;
    kernels.apply(GradientEpilogue(layer.activation()),
                  static_cast<std::size_t>(layer.planned().out.count()) * call.count,
                  layer.out().Row(call.first), call.dy);
  };
  if (!activation_gradient_applied && !layers_.empty()) apply(*layers_.back());
  const bool wants_input = wants_input_ && call.wants_input;
  const int lowest = wants_input ? 0 : first_learner_;
  for (int i = static_cast<int>(layers_.size()); i-- > lowest;) {
    NetworkLayer& layer = *layers_[i];
    call.dx = i > lowest || wants_input ? dx : nullptr;
    call.below =
        layer.fuses() && i > 0 ? GradientEpilogue(layers_[i - 1]->activation()) : Epilogue::kNone;
    float* const result = layer.Backward(call);
    if (call.dx == nullptr) return nullptr;
    call.dy = result;
    if (result == dx) std::swap(dx, other);
    if (i > 0 && !layer.fuses()) apply(*layers_[i - 1]);
  }
  return wants_input ? call.dy : nullptr;
}

float* LayerChain::Backward(const LayerBackward& call, bool activation_gradient_applied) {
  MURMURATE_CHECK(!wants_input_ || call.count <= at_once_, "one chunk gives one gradient");
  if (!has_gradient()) return nullptr;
  const std::ptrdiff_t width =
      layers_.empty() ? 0 : static_cast<std::ptrdiff_t>(layers_.back()->planned().out.count());
  float* result = nullptr;
  for (int done = 0; done < call.count; done += at_once_) {
    LayerBackward chunk = call;
    chunk.first = call.first + done;
    chunk.count = std::min(at_once_, call.count - done);
    chunk.dy = call.dy + width * done;
    result = BackwardChunk(chunk, activation_gradient_applied);
  }
  return result;
}

}  // namespace murmurate
