#include "server/learn/replay_algorithm.h"

#include <algorithm>
#include <iterator>

#include "server/learn/replay_planner.h"
#include "server/replay/replay_store.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

ReplaySettings OfWindows(const AlgorithmSettings& settings) {
  ReplaySettings replay = settings.replay;
  replay.window = settings.n_step + 1;
  return replay;
}

}  // namespace

ReplayAlgorithm::ReplayAlgorithm(const ModelSpec& spec, const AlgorithmSettings& settings)
    : prioritizes_(settings.replay.priority_exponent > 0.0),
      layout_(spec),
      steps_(spec, settings) {}

void ReplayAlgorithm::Prepare(std::span<const float> parameters, const TrainingBatch& batch,
                              const BatchPlan& plan) {
  batch_ = &batch;
  plan_ = &plan;
  sums_ = {};
  answers_.clear();
  answers_.reserve(plan.rows.size());
  if (!prioritizes_ || !plan.updates.empty()) return;
  Random random(plan.seed);
  std::span<const std::int32_t> rows(plan.rows);
  while (!rows.empty()) {
    const std::size_t count = std::min(rows.size(), static_cast<std::size_t>(steps_.most()));
    steps_.Gather(batch, rows.first(count));
    FindErrors(parameters, random);
    for (std::size_t i = 0; i < count; ++i) answers_.push_back(static_cast<float>(Distance(i)));
    rows = rows.subspan(count);
  }
}

bool ReplayAlgorithm::Gradient(std::size_t update, std::span<const float> parameters,
                               std::span<float> gradient) {
  const PlannedUpdate& planned = plan_->updates[update];
  Random random(DeriveSeed(plan_->seed, update));
  steps_.Gather(*batch_, std::span(plan_->order).subspan(planned.first, planned.count));
  std::ranges::fill(gradient, 0.0f);
  FindErrors(parameters, random);
  for (std::size_t i = 0; i < steps_.count(); ++i) {
    const double distance = Distance(i);
    answers_.push_back(static_cast<float>(distance));
    sums_[kDistance] += distance;
  }
  AddGradients(planned, parameters, random, gradient);
  sums_[kSteps] += static_cast<double>(steps_.count());
  return true;
}

void ReplayAlgorithm::Score(std::size_t, std::span<const float>) {
  MURMURATE_CHECK(false, "only labels are held out");
}

Result<std::unique_ptr<ExperienceStore>> MakeWindowStore(const AlgorithmSettings& settings,
                                                         const StoreSetup& setup) {
  auto made = ReplayStore::Make(OfWindows(settings), setup);
  if (!made.ok()) return made.status();
  return std::unique_ptr<ExperienceStore>(*std::move(made));
}

std::vector<KeyDefault> CriticDefaults(std::vector<KeyDefault> own) {
  std::vector<KeyDefault> all{{"algorithm", "trajectory_length", std::int64_t{16}},
                              {"algorithm", "batch_steps", std::int64_t{64}},
                              {"algorithm", "epochs", std::int64_t{1}},
                              {"algorithm", "max_grad_norm", 0.0},
                              {"algorithm", "normalize_reward", false},
                              {"algorithm", "n_step", std::int64_t{1}},
                              {"algorithm", "target_part", 0.005},
                              {"replay", "capacity", std::int64_t{1'000'000}},
                              {"replay", "minibatch", std::int64_t{256}},
                              {"replay", "samples_per_insert", 256.0}};
  std::ranges::move(own, std::back_inserter(all));
  return all;
}

ActSettings ActByEpsilon(const AlgorithmSettings& settings, std::uint64_t learned_steps) {
  return {.mode = ActSettings::Mode::kEpsilon,
          .epsilon = static_cast<float>(settings.policy.epsilon.At(learned_steps)),
          .ladder_count = static_cast<std::uint32_t>(settings.policy.ladder_count),
          .ladder_alpha = static_cast<float>(settings.policy.ladder_alpha)};
}

std::vector<AlgorithmMetric> ValueMetrics() {
  using A = ReplayAlgorithm;
  return {{&LearnReport::value_loss, A::kLoss, A::kSteps},
          {&LearnReport::policy_loss, A::kPolicyLoss, A::kPolicySteps},
          {&kQValue, A::kValue, A::kSteps},
          {&kTdError, A::kDistance, A::kSteps}};
}

AlgorithmKind ReplayKind(std::string name, std::vector<std::string> refused) {
  for (const char* key :
       {"lambda", "value_weight", "clip", "dual_clip", "entropy", "target_kl", "adaptive_kl",
        "staleness", "max_staleness", "normalize_advantage", "minibatch", "epochs", "burn_in",
        "expectile", "inverse_temperature", "max_advantage_weight"})
    refused.push_back(key);
  AlgorithmKind kind{
      .name = std::move(name),
      .replays = true,
      .prepares = false,
      .metrics = ValueMetrics(),
      .make_store = MakeWindowStore,
      .store_bytes = [](const AlgorithmSettings& settings, const TrajectoryLayout& layout) {
        return ReplayStore::BytesFor(OfWindows(settings), layout);
      }};
  for (std::string& key : refused)
    kind.refusals.push_back({.key = std::move(key),
                             .expected = "no such line",
                             .because = "{} learns values of actions from a replay, without it"});
  kind.make_planner = [](const ModelSpec&, const AlgorithmSettings& settings,
                         std::uint64_t seed) -> std::unique_ptr<Planner> {
    return std::make_unique<ReplayPlanner>(settings, seed);
  };
  return kind;
}

}  // namespace murmurate
