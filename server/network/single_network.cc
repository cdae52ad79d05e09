#include "server/network/single_network.h"

#include <algorithm>

#include "server/network/chunk_rows.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

NetworkPlan PlanOf(const ModelSpec& spec, std::string_view network) {
  MURMURATE_CHECK(spec.Find(network) != nullptr, "a network of the model");
  Result<NetworkPlan> plan = PlanNetwork(spec, network);
  MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
  MURMURATE_CHECK(plan->state_floats == 0, "a network of independent rows");
  return *std::move(plan);
}

}  // namespace

SingleNetwork::SingleNetwork(const ModelSpec& spec, const ParameterLayout& layout,
                             std::string_view network, int max_rows,
                             const std::vector<std::string>& sharing)
    : SingleNetwork(spec, PlanOf(spec, network), layout, max_rows) {
  for (const std::string& name : sharing) {
    const NetworkPlan plan = PlanOf(spec, name);
    MURMURATE_CHECK(!plan.own_layers && plan.features == heads_[0].layer->planned().in.channels,
                    "a network that shares the layers");
    AddHead(plan);
  }
}

SingleNetwork::SingleNetwork(const ModelSpec& spec, const NetworkPlan& plan,
                             const ParameterLayout& layout, int max_rows)
    : action_features_(plan.action_features),
      chunk_rows_(ChunkRowsOf(max_rows)),
      room_{layout, max_rows},
      sources_(spec, plan, &room_),
      tower_(plan, sources_, chunk_rows_, &room_) {
  AddHead(plan);
  const std::size_t top = static_cast<std::size_t>(chunk_rows_) * plan.features;
  room_.vectors.floats = std::max(room_.vectors.floats, top);
  room_.Allocate();
}

void SingleNetwork::AddHead(const NetworkPlan& plan) {
  const LayerRequest request{plan.head, tower_.features(), &room_, tower_.has_gradient(), 0,
                             nullptr};
  heads_.push_back({plan.outputs, std::make_unique<DenseLayer>(request, true)});
}

template <typename Visit>
void SingleNetwork::EachChunk(Visit visit) const {
  for (int first = 0; first < rows_; first += chunk_rows_)
    visit(first, std::min(chunk_rows_, rows_ - first));
}

void SingleNetwork::Forward(std::span<const float> parameters, const void* observations, int rows,
                            std::span<float* const> outputs, const float* actions) {
  MURMURATE_CHECK(rows <= room_.max_rows, "more rows than the scratch holds");
  MURMURATE_CHECK((actions != nullptr) == (action_features_ > 0), "actions where they are read");
  rows_ = rows;
  tower_.ReadActions(actions);
  sources_.Begin(parameters.data(), observations);
  EachChunk([&](int first, int count) {
    sources_.Prepare(first, count);
    tower_.Forward(0, parameters.data(), first, count);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      heads_[i].layer->Run(parameters.data(), first, count,
                           outputs[i] + std::ptrdiff_t{first} * heads_[i].outputs);
  });
}

/// Each head adds its share of the features' gradient, and the last applies the top activation's.
float* SingleNetwork::BackwardHeads(std::span<const float* const> d_outputs, LayerBackward call) {
  for (std::size_t i = 0; i < d_outputs.size(); ++i) {
    const DenseLayer& head = *heads_[i].layer;
    // A head only reads its gradient.
    call.dy = const_cast<float*>(d_outputs[i]) + std::ptrdiff_t{call.first} * heads_[i].outputs;
    call.below =
        i + 1 == d_outputs.size() ? GradientEpilogue(tower_.top_activation()) : Epilogue::kNone;
    if (call.gradient != nullptr) head.AddGradient(call);
    if (call.dx != nullptr) head.InputGradient(call, i > 0);
  }
  return call.dx;
}

void SingleNetwork::Backward(std::span<const float> parameters,
                             std::span<const float* const> d_outputs, std::span<float> gradient,
                             float* d_actions) {
  tower_.TransposeWeights(parameters.data());
  for (std::size_t i = 0; i < d_outputs.size(); ++i)
    heads_[i].layer->TransposeWeights(parameters.data());
  EachChunk([&](int first, int count) {
    LayerBackward call{.parameters = parameters.data(),
                       .gradient = gradient.empty() ? nullptr : gradient.data(),
                       .first = first,
                       .count = count,
                       .dx = tower_.has_gradient() ? room_.vectors.even.data() : nullptr};
    float* const below = BackwardHeads(d_outputs, call);
    if (below == nullptr) return;
    call.dy = below;
    tower_.Backward(
        0, call, true,
        d_actions == nullptr ? nullptr : d_actions + std::ptrdiff_t{first} * action_features_);
  });
}

}  // namespace murmurate
