#include "shared/network/actor_critic.h"

#include <algorithm>

#include "shared/core/check.h"
#include "shared/network/dense_layer.h"
#include "shared/network/network_tower.h"

namespace murmurate {
namespace {

/// Rows that go through all layers together, so that what one layer wrote the next finds in the
/// cache; a multiple of every tile height. 96 is 1 % slower at 64 units and 5 % at 1024.
constexpr int kChunkRows = 192;

NetworkPlan Plan(const ModelSpec& spec, const char* section) {
  Result<NetworkPlan> plan = PlanNetwork(spec, section);
  MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
  return *std::move(plan);
}

std::unique_ptr<DenseLayer> MakeHead(const char* name, int units, const NetworkPlan& plan,
                                     const NetworkTower& tower, LayerRoom* room) {
  const PlannedLayer planned{{.units = units}, name, {1, 1, plan.features}, {1, 1, units}};
  return std::make_unique<DenseLayer>(
      LayerRequest{planned, tower.features(), room, tower.has_gradient(), 0, nullptr}, true);
}

double HeadFlops(const DenseLayer& head) {
  return head.planned().flops() * (head.has_input_gradient() ? 3 : 2);
}

}  // namespace

struct ActorCritic::Workspace {
  const ModelSpec spec;
  const ParameterLayout layout;
  const NetworkPlan plan;
  const int outputs, chunk_rows;
  LayerRoom room;
  ObservationSources sources;
  NetworkTower policy;
  std::unique_ptr<NetworkTower> critic;  // none when it shares the policy's
  std::unique_ptr<DenseLayer> policy_head, critic_head;
  int rows = 0;  // of the Forward that Backward may follow

  Workspace(const ModelSpec& s, int max_rows)
      : spec(s),
        layout(s),
        plan(Plan(s, "policy")),
        outputs(ActionLayout(s.spaces.action, s.continuous).outputs()),
        chunk_rows(std::min(max_rows, kChunkRows)),
        room{layout, max_rows},
        sources(s, plan, &room),
        policy(plan, sources, chunk_rows, &room) {
    if (s.separate_value)
      critic = std::make_unique<NetworkTower>(Plan(s, "critic"), sources, chunk_rows, &room);
    policy_head = MakeHead("policy.head", outputs, plan, policy, &room);
    critic_head = MakeHead("critic.head", 1, plan, critic_tower(), &room);
    const std::size_t top = static_cast<std::size_t>(chunk_rows) * plan.features;
    room.vectors.floats = std::max(room.vectors.floats, top);
    room.Allocate();
  }

  NetworkTower& critic_tower() { return critic != nullptr ? *critic : policy; }

  template <typename Visit>
  void EachChunk(int count, Visit visit) const {
    for (int first = 0; first < count; first += chunk_rows)
      visit(first, std::min(chunk_rows, count - first));
  }

  /// The critic has one stage: recurrent layers are the policy's alone, and then shared.
  void ForwardStage(const float* parameters, int stage, int count, float* logits, float* values) {
    if (stage > 0) policy.Recur(stage, parameters);
    const bool last = stage + 1 == policy.stages();
    EachChunk(count, [&](int first, int chunk) {
      if (stage == 0) sources.Prepare(first, chunk);
      if (logits != nullptr || critic == nullptr) policy.Forward(stage, parameters, first, chunk);
      if (!last) return;
      if (logits != nullptr)
        policy_head->Run(parameters, first, chunk, logits + std::ptrdiff_t{first} * outputs);
      if (critic != nullptr) critic->Forward(0, parameters, first, chunk);
      critic_head->Run(parameters, first, chunk, values + first);
    });
  }

  /// A head's gradient, then that of the last stage below it.
  void BackwardTop(LayerBackward call, float* d_logits, float* d_values) {
    const bool separate = critic != nullptr;
    const int last = policy.stages() - 1;
    call.dx = policy_head->has_input_gradient() ? room.vectors.even.data() : nullptr;
    call.below = separate ? GradientEpilogue(policy.top_activation()) : Epilogue::kNone;
    call.dy = d_logits;
    LayerBackward below = call;
    below.dy = policy_head->Backward(call);
    if (separate && below.dy != nullptr) policy.Backward(last, below, true);
    call.below = GradientEpilogue(critic_tower().top_activation());
    call.dy = d_values;
    critic_head->AddGradient(call);
    if (call.dx == nullptr) return;
    critic_head->InputGradient(call, !separate);
    below.dy = call.dx;
    critic_tower().Backward(separate ? 0 : last, below, true);
  }

  void BackwardStage(LayerBackward call, int stage, float* d_logits, float* d_values) {
    EachChunk(rows, [&](int first, int chunk) {
      call.first = first;
      call.count = chunk;
      if (stage + 1 == policy.stages())
        BackwardTop(call, d_logits + std::ptrdiff_t{first} * outputs, d_values + first);
      else
        policy.Backward(stage, call, false);
    });
    if (stage > 0) policy.RecurBack(stage, call.parameters, call.gradient);
  }
};

ActorCritic::ActorCritic(const ModelSpec& spec, int max_rows)
    : workspace_(std::make_unique<Workspace>(spec, max_rows)) {}
ActorCritic::~ActorCritic() = default;
ActorCritic::ActorCritic(ActorCritic&&) noexcept = default;

const ModelSpec& ActorCritic::spec() const { return workspace_->spec; }
const ParameterLayout& ActorCritic::layout() const { return workspace_->layout; }
int ActorCritic::outputs() const { return workspace_->outputs; }
int ActorCritic::state_floats() const { return workspace_->plan.state_floats; }

void ActorCritic::Forward(std::span<const float> parameters, const void* observations, int rows,
                          float* logits, float* values, const Sequences* sequences) {
  Workspace& w = *workspace_;
  MURMURATE_CHECK(rows <= w.room.max_rows, "more rows than the scratch holds");
  MURMURATE_CHECK(parameters.size() == w.layout.total, "another layout's parameters");
  if (w.plan.state_floats > 0) {
    MURMURATE_CHECK(sequences != nullptr && sequences->steps * sequences->count == rows,
                    "a recurrent model needs to know which rows follow each other");
    w.room.sequences = *sequences;
  }
  w.rows = logits != nullptr ? rows : 0;
  w.sources.Begin(parameters.data(), observations);
  for (int stage = 0; stage < w.policy.stages(); ++stage)
    w.ForwardStage(parameters.data(), stage, rows, logits, values);
}

void ActorCritic::Backward(std::span<const float> parameters, const float* d_logits,
                           const float* d_values, std::span<float> gradient) {
  Workspace& w = *workspace_;
  MURMURATE_CHECK(w.rows > 0, "Backward follows a Forward with logits");
  MURMURATE_CHECK(gradient.size() >= w.layout.trained_count(), "room for every gradient");
  std::fill_n(gradient.begin(), w.layout.trained_count(), 0.0f);
  w.policy.TurnWeights(parameters.data());
  if (w.critic != nullptr) w.critic->TurnWeights(parameters.data());
  w.policy_head->TurnWeights(parameters.data());
  w.critic_head->TurnWeights(parameters.data());
  // Heads only read their gradients: the layers below get blocks of the room's.
  for (int stage = w.policy.stages(); stage-- > 0;)
    w.BackwardStage({.parameters = parameters.data(), .gradient = gradient.data()}, stage,
                    const_cast<float*>(d_logits), const_cast<float*>(d_values));
  w.rows = 0;
}

double ActorCritic::flops_per_row() const {
  const Workspace& w = *workspace_;
  return w.policy.flops() + (w.critic != nullptr ? w.critic->flops() : 0.0) +
         HeadFlops(*w.policy_head) + HeadFlops(*w.critic_head);
}

}  // namespace murmurate
