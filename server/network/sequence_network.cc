#include "server/network/sequence_network.h"

#include <algorithm>

#include "server/network/chunk_rows.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

NetworkPlan PlanOf(const ModelSpec& spec, std::string_view network) {
  MURMURATE_CHECK(spec.Find(network) != nullptr, "a network of the model");
  Result<NetworkPlan> plan = PlanNetwork(spec, network);
  MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
  MURMURATE_CHECK(plan->action_features == 0, "a network that reads observations alone");
  return *std::move(plan);
}

}  // namespace

SequenceNetwork::SequenceNetwork(const ModelSpec& spec, const ParameterLayout& layout,
                                 std::string_view network, int max_rows)
    : SequenceNetwork(spec, PlanOf(spec, network), layout, max_rows) {}

SequenceNetwork::SequenceNetwork(const ModelSpec& spec, const NetworkPlan& plan,
                                 const ParameterLayout& layout, int max_rows)
    : outputs_(plan.outputs),
      state_floats_(plan.state_floats),
      chunk_rows_(std::min(max_rows, kChunkRows)),
      room_{layout, max_rows},
      sources_(spec, plan, &room_),
      tower_(plan, sources_, chunk_rows_, &room_),
      head_({plan.head, tower_.features(), &room_, tower_.has_gradient(), 0, nullptr}, true) {
  const std::size_t top = static_cast<std::size_t>(chunk_rows_) * plan.features;
  room_.vectors.floats = std::max(room_.vectors.floats, top);
  room_.Allocate();
}

template <typename Visit>
void SequenceNetwork::EachChunk(Visit visit) const {
  for (int first = 0; first < rows_; first += chunk_rows_)
    visit(first, std::min(chunk_rows_, rows_ - first));
}

void SequenceNetwork::Forward(std::span<const float> parameters, const void* observations,
                              const Sequences& sequences, float* outputs) {
  rows_ = sequences.steps * sequences.count;
  MURMURATE_CHECK(rows_ <= room_.max_rows, "more rows than the scratch holds");
  room_.sequences = sequences;
  sources_.Begin(parameters.data(), observations);
  for (int stage = 0; stage < tower_.stages(); ++stage) {
    if (stage > 0) tower_.Recur(stage, parameters.data());
    const bool last = stage + 1 == tower_.stages();
    if (last && outputs == nullptr) return;
    EachChunk([&](int first, int count) {
      if (stage == 0) sources_.Prepare(first, count);
      tower_.Forward(stage, parameters.data(), first, count);
      if (last)
        head_.Run(parameters.data(), first, count, outputs + std::ptrdiff_t{first} * outputs_);
    });
  }
}

/// The head's gradient, then that of the last stage below it.
void SequenceNetwork::BackwardTop(LayerBackward call) {
  call.dx = head_.has_input_gradient() ? room_.vectors.even.data() : nullptr;
  call.below = GradientEpilogue(tower_.top_activation());
  call.dy = head_.Backward(call);
  if (call.dy != nullptr) tower_.Backward(tower_.stages() - 1, call, true);
}

void SequenceNetwork::Backward(std::span<const float> parameters, const float* d_outputs,
                               std::span<float> gradient) {
  tower_.TransposeWeights(parameters.data());
  head_.TransposeWeights(parameters.data());
  for (int stage = tower_.stages(); stage-- > 0;) {
    EachChunk([&](int first, int count) {
      LayerBackward call{.parameters = parameters.data(),
                         .gradient = gradient.data(),
                         .first = first,
                         .count = count,
                         // A head only reads its gradient.
                         .dy = const_cast<float*>(d_outputs) + std::ptrdiff_t{first} * outputs_};
      if (stage + 1 == tower_.stages())
        BackwardTop(call);
      else
        tower_.Backward(stage, call, false);
    });
    if (stage > 0) tower_.RecurBack(stage, parameters.data(), gradient.data());
  }
}

}  // namespace murmurate
