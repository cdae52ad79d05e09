#include "server/network/network_tower.h"

#include <algorithm>
#include <span>

namespace murmurate {
namespace {

/// Pictures that go through their layers together: a few fill the cache.
constexpr int kPicturesAtOnce = 16;

/// Layers up to the last that a picture comes to, and to the end of its residual block.
std::size_t PictureLayers(const std::vector<PlannedLayer>& layers) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (!layers[i].in.vector()) end = i + 1;
  bool open = false;
  for (std::size_t i = 0; i < layers.size() && (i < end || open); ++i) {
    const LayerForm::Block block = layers[i].layer.form().block;
    if (block != LayerForm::Block::kNone) open = block == LayerForm::Block::kOpens;
    end = std::max(end, i + 1);
  }
  return end;
}

}  // namespace

NetworkTower::NetworkTower(const NetworkPlan& plan, const ObservationSources& sources,
                           int chunk_rows, LayerRoom* room)
    : room_(room),
      chunk_rows_(chunk_rows),
      joined_count_(plan.joined),
      action_count_(plan.action_features) {
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    AddEncoder(plan.inputs[i], sources.rows(static_cast<int>(i)));
    encoders_learn_ = encoders_learn_ || encoders_.back().has_gradient();
  }
  const LayerRows* in = encoders_[0].vectors->top();
  if (encoders_.size() > 1 || action_count_ > 0) {
    joined_ = AlignedFloats(static_cast<std::size_t>(room->max_rows) * joined_count_);
    d_joined_ = AlignedFloats(static_cast<std::size_t>(chunk_rows) * joined_count_);
    joined_rows_ = {joined_.data(), nullptr, joined_count_};
    in = &joined_rows_;
    const std::size_t slice = static_cast<std::size_t>(chunk_rows) * joined_count_;
    room->vectors.floats = std::max(room->vectors.floats, slice);
  }
  AddStages(plan, in, encoders_learn_ || action_count_ > 0);
}

void NetworkTower::AddEncoder(const PlannedInput& input, const LayerRows* rows) {
  const std::span<const PlannedLayer> layers = input.layers;
  const std::size_t cut = PictureLayers(input.layers);
  Encoder encoder;
  encoder.features = input.features;
  encoder.first_feature = input.first_feature;
  encoder.pictures =
      std::make_unique<LayerChain>(layers.first(cut), rows, false,
                                   std::min(chunk_rows_, kPicturesAtOnce), &room_->pictures, room_);
  encoder.vectors = std::make_unique<LayerChain>(layers.subspan(cut), encoder.pictures->top(),
                                                 encoder.pictures->has_gradient(), chunk_rows_,
                                                 &room_->vectors, room_);
  encoders_.push_back(std::move(encoder));
}

void NetworkTower::AddStages(const NetworkPlan& plan, const LayerRows* in, bool learns) {
  const std::span<const PlannedLayer> trunk = plan.trunk;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= trunk.size(); ++i) {
    if (i < trunk.size() && !trunk[i].layer.recurrent()) continue;
    stages_.push_back(std::make_unique<LayerChain>(trunk.subspan(begin, i - begin), in, learns,
                                                   chunk_rows_, &room_->vectors, room_));
    if (i == trunk.size()) break;
    recurrent_.push_back(std::make_unique<RecurrentLayer>(trunk[i], stages_.back()->top(),
                                                          plan.state_floats, room_));
    in = &recurrent_.back()->out();
    learns = true;
    begin = i + 1;
  }
}

double NetworkTower::flops() const {
  double flops = 0;
  for (const Encoder& encoder : encoders_)
    flops += encoder.pictures->flops() + encoder.vectors->flops();
  for (const auto& stage : stages_) flops += stage->flops();
  for (const auto& layer : recurrent_) flops += layer->flops();
  return flops;
}

void NetworkTower::Join(int first, int count) {
  for (const Encoder& encoder : encoders_) {
    const LayerRows& from = *encoder.vectors->top();
    for (int row = first; row < first + count; ++row)
      std::copy_n(from.Row(row), encoder.features,
                  joined_.data() + std::ptrdiff_t{row} * joined_count_ + encoder.first_feature);
  }
  const int first_action = joined_count_ - action_count_;
  for (int row = first; row < first + count && action_count_ > 0; ++row)
    std::copy_n(actions_ + std::ptrdiff_t{row} * action_count_, action_count_,
                joined_.data() + std::ptrdiff_t{row} * joined_count_ + first_action);
}

void NetworkTower::Recur(int stage, const float* parameters) {
  recurrent_[stage - 1]->Forward(parameters);
}

void NetworkTower::Forward(int stage, const float* parameters, int first, int count) {
  if (stage == 0) {
    for (const Encoder& encoder : encoders_) {
      encoder.pictures->Forward(parameters, first, count);
      encoder.vectors->Forward(parameters, first, count);
    }
    if (joins()) Join(first, count);
  }
  stages_[stage]->Forward(parameters, first, count);
}

void NetworkTower::TransposeWeights(const float* parameters) {
  for (const Encoder& encoder : encoders_) {
    encoder.pictures->TransposeWeights(parameters);
    encoder.vectors->TransposeWeights(parameters);
  }
  for (const auto& stage : stages_) stage->TransposeWeights(parameters);
}

void NetworkTower::BackwardEncoder(const Encoder& encoder, LayerBackward call) {
  call.dy = encoder.vectors->Backward(call, false);
  if (call.dy != nullptr) encoder.pictures->Backward(call, false);
}

void NetworkTower::Backward(int stage, const LayerBackward& call, bool activation_gradient_applied,
                            float* d_actions) {
  LayerBackward below = call;
  const bool encoders = encoders_learn_ && call.gradient != nullptr;
  below.wants_input = stage > 0 || encoders || d_actions != nullptr;
  if (stage + 1 < stages()) below.dy = recurrent_[stage]->d_input(call.first);
  below.dy = stages_[stage]->Backward(below, activation_gradient_applied);
  if (below.dy == nullptr) return;
  if (stage > 0) {
    float* const to = recurrent_[stage - 1]->d_output(call.first);
    std::copy_n(below.dy, recurrent_[stage - 1]->d_output(call.first + call.count) - to, to);
    return;
  }
  if (joins()) return BackwardJoined(below, d_actions);
  BackwardEncoder(encoders_[0], below);
}

/// call.dy: of the joined vector.
void NetworkTower::BackwardJoined(LayerBackward call, float* d_actions) {
  const int first_action = joined_count_ - action_count_;
  for (std::ptrdiff_t row = 0; row < call.count && d_actions != nullptr; ++row)
    std::copy_n(call.dy + row * joined_count_ + first_action, action_count_,
                d_actions + row * action_count_);
  if (!encoders_learn_ || call.gradient == nullptr) return;
  std::copy_n(call.dy, std::ptrdiff_t{call.count} * joined_count_, d_joined_.data());
  call.dy = room_->vectors.even.data();
  for (const Encoder& encoder : encoders_) {
    if (!encoder.has_gradient()) continue;
    for (std::ptrdiff_t row = 0; row < call.count; ++row)
      std::copy_n(d_joined_.data() + row * joined_count_ + encoder.first_feature, encoder.features,
                  call.dy + row * encoder.features);
    BackwardEncoder(encoder, call);
  }
}

void NetworkTower::RecurBack(int stage, const float* parameters, float* gradient) {
  recurrent_[stage - 1]->Backward(parameters, gradient);
}

}  // namespace murmurate
