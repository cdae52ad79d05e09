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
                             std::string_view network, int max_rows)
    : SingleNetwork(spec, PlanOf(spec, network), layout, max_rows) {}

SingleNetwork::SingleNetwork(const ModelSpec& spec, const NetworkPlan& plan,
                             const ParameterLayout& layout, int max_rows)
    : outputs_(plan.outputs),
      action_features_(plan.action_features),
      chunk_rows_(ChunkRowsOf(max_rows)),
      room_{layout, max_rows},
      sources_(spec, plan, &room_),
      tower_(plan, sources_, chunk_rows_, &room_),
      head_({plan.head, tower_.features(), &room_, tower_.has_gradient(), 0, nullptr}, true) {
  const std::size_t top = static_cast<std::size_t>(chunk_rows_) * plan.features;
  room_.vectors.floats = std::max(room_.vectors.floats, top);
  room_.Allocate();
}

template <typename Visit>
void SingleNetwork::EachChunk(Visit visit) const {
  for (int first = 0; first < rows_; first += chunk_rows_)
    visit(first, std::min(chunk_rows_, rows_ - first));
}

void SingleNetwork::Forward(std::span<const float> parameters, const void* observations, int rows,
                            float* outputs, const float* actions) {
  MURMURATE_CHECK(rows <= room_.max_rows, "more rows than the scratch holds");
  MURMURATE_CHECK((actions != nullptr) == (action_features_ > 0), "actions where they are read");
  rows_ = rows;
  tower_.ReadActions(actions);
  sources_.Begin(parameters.data(), observations);
  EachChunk([&](int first, int count) {
    sources_.Prepare(first, count);
    tower_.Forward(0, parameters.data(), first, count);
    head_.Run(parameters.data(), first, count, outputs + std::ptrdiff_t{first} * outputs_);
  });
}

void SingleNetwork::Backward(std::span<const float> parameters, const float* d_outputs,
                             std::span<float> gradient, float* d_actions) {
  tower_.TransposeWeights(parameters.data());
  head_.TransposeWeights(parameters.data());
  EachChunk([&](int first, int count) {
    LayerBackward call{.parameters = parameters.data(),
                       .gradient = gradient.empty() ? nullptr : gradient.data(),
                       .first = first,
                       .count = count,
                       // A head only reads its gradient.
                       .dy = const_cast<float*>(d_outputs) + std::ptrdiff_t{first} * outputs_,
                       .dx = head_.has_input_gradient() ? room_.vectors.even.data() : nullptr,
                       .below = GradientEpilogue(tower_.top_activation())};
    float* const below = head_.Backward(call);
    if (below == nullptr) return;
    call.dy = below;
    tower_.Backward(
        0, call, true,
        d_actions == nullptr ? nullptr : d_actions + std::ptrdiff_t{first} * action_features_);
  });
}

}  // namespace murmurate
