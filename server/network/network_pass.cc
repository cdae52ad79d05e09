#include "server/network/network_pass.h"

#include <algorithm>

#include "server/network/chunk_rows.h"
#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

NetworkPlan Plan(const ModelSpec& spec, std::string_view network) {
  MURMURATE_CHECK(spec.Find(network) != nullptr, "a model of a policy and its value");
  Result<NetworkPlan> plan = PlanNetwork(spec, network);
  MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
  MURMURATE_CHECK(plan->action_features == 0, "networks that read observations alone");
  return *std::move(plan);
}

std::unique_ptr<DenseLayer> MakeHead(const NetworkPlan& plan, const NetworkTower& tower,
                                     LayerRoom* room) {
  return std::make_unique<DenseLayer>(
      LayerRequest{plan.head, tower.features(), room, tower.has_gradient(), 0, nullptr}, true);
}

double HeadFlops(const DenseLayer& head) {
  return head.planned().flops() * (head.has_input_gradient() ? 3 : 2);
}

}  // namespace

NetworkPass::NetworkPass(const ModelSpec& spec, const ParameterLayout& layout, int max_rows)
    : NetworkPass(spec, Plan(spec, kPolicyNetwork), Plan(spec, kValueNetwork), layout, max_rows) {}

NetworkPass::NetworkPass(const ModelSpec& spec, const NetworkPlan& plan, const NetworkPlan& value,
                         const ParameterLayout& layout, int max_rows)
    : outputs_(ActionLayout(spec.spaces.action, spec.continuous).outputs()),
      state_floats_(plan.state_floats),
      chunk_rows_(std::min(max_rows, kChunkRows)),
      room_{layout, max_rows},
      sources_(spec, value.inputs.size() > plan.inputs.size() ? value : plan, &room_),
      policy_(plan, sources_, chunk_rows_, &room_) {
  if (spec.Find(kValueNetwork)->shares.empty())
    value_ = std::make_unique<NetworkTower>(value, sources_, chunk_rows_, &room_);
  policy_head_ = MakeHead(plan, policy_, &room_);
  value_head_ = MakeHead(value, value_tower(), &room_);
  const std::size_t top =
      static_cast<std::size_t>(chunk_rows_) * std::max(plan.features, value.features);
  room_.vectors.floats = std::max(room_.vectors.floats, top);
  room_.Allocate();
}

template <typename Visit>
void NetworkPass::EachChunk(int count, Visit visit) const {
  for (int first = 0; first < count; first += chunk_rows_)
    visit(first, std::min(chunk_rows_, count - first));
}

/// The value's own layers are one stage: recurrent layers are the policy's alone, and then shared.
void NetworkPass::ForwardStage(const float* parameters, int stage, int count, float* logits,
                               float* values) {
  if (stage > 0) policy_.Recur(stage, parameters);
  const bool last = stage + 1 == policy_.stages();
  EachChunk(count, [&](int first, int chunk) {
    if (stage == 0) sources_.Prepare(first, chunk);
    if (logits != nullptr || value_ == nullptr) policy_.Forward(stage, parameters, first, chunk);
    if (!last) return;
    if (logits != nullptr)
      policy_head_->Run(parameters, first, chunk, logits + std::ptrdiff_t{first} * outputs_);
    if (value_ != nullptr) value_->Forward(0, parameters, first, chunk);
    value_head_->Run(parameters, first, chunk, values + first);
  });
}

/// A head's gradient, then that of the last stage below it.
void NetworkPass::BackwardTop(LayerBackward call, float* d_logits, float* d_values) {
  const bool separate = value_ != nullptr;
  const int last = policy_.stages() - 1;
  call.dx = policy_head_->has_input_gradient() ? room_.vectors.even.data() : nullptr;
  call.below = separate ? GradientEpilogue(policy_.top_activation()) : Epilogue::kNone;
  call.dy = d_logits;
  LayerBackward below = call;
  below.dy = policy_head_->Backward(call);
  if (separate && below.dy != nullptr) policy_.Backward(last, below, true);
  call.below = GradientEpilogue(value_tower().top_activation());
  call.dy = d_values;
  value_head_->AddGradient(call);
  if (call.dx == nullptr) return;
  value_head_->InputGradient(call, !separate);
  below.dy = call.dx;
  value_tower().Backward(separate ? 0 : last, below, true);
}

void NetworkPass::BackwardStage(LayerBackward call, int stage, float* d_logits, float* d_values) {
  EachChunk(rows_, [&](int first, int chunk) {
    call.first = first;
    call.count = chunk;
    if (stage + 1 == policy_.stages())
      BackwardTop(call, d_logits + std::ptrdiff_t{first} * outputs_, d_values + first);
    else
      policy_.Backward(stage, call, false);
  });
  if (stage > 0) policy_.RecurBack(stage, call.parameters, call.gradient);
}

void NetworkPass::Forward(const float* parameters, const void* observations, int rows,
                          float* logits, float* values, const Sequences* sequences) {
  if (sequences != nullptr) room_.sequences = *sequences;
  rows_ = rows;
  sources_.Begin(parameters, observations);
  for (int stage = 0; stage < policy_.stages(); ++stage)
    ForwardStage(parameters, stage, rows, logits, values);
}

void NetworkPass::Backward(const float* parameters, const float* d_logits, const float* d_values,
                           float* gradient) {
  std::fill_n(gradient, room_.layout.trained_count(), 0.0f);
  policy_.TransposeWeights(parameters);
  if (value_ != nullptr) value_->TransposeWeights(parameters);
  policy_head_->TransposeWeights(parameters);
  value_head_->TransposeWeights(parameters);
  // Heads only read their gradients: the layers below get blocks of the LayerRoom.
  for (int stage = policy_.stages(); stage-- > 0;)
    BackwardStage({.parameters = parameters, .gradient = gradient}, stage,
                  const_cast<float*>(d_logits), const_cast<float*>(d_values));
}

double NetworkPass::flops() const {
  return policy_.flops() + (value_ != nullptr ? value_->flops() : 0.0) + HeadFlops(*policy_head_) +
         HeadFlops(*value_head_);
}

}  // namespace murmurate
