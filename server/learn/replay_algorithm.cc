#include "server/learn/replay_algorithm.h"

#include <algorithm>

#include "server/replay/replay_store.h"
#include "shared/core/check.h"

namespace murmurate {

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

std::vector<AlgorithmMetric> ReplayMetrics() {
  using A = ReplayAlgorithm;
  return {{&LearnReport::value_loss, A::kLoss, A::kSteps},
          {&LearnReport::policy_loss, A::kPolicyLoss, A::kPolicySteps},
          {&kQValue, A::kValue, A::kSteps},
          {&kTdError, A::kDistance, A::kSteps}};
}

std::unique_ptr<ExperienceStore> MakeWindowStore(const AlgorithmSettings& settings,
                                                 const StoreSetup& setup) {
  ReplaySettings replay = settings.replay;
  replay.window = settings.n_step + 1;
  return std::make_unique<ReplayStore>(replay, setup);
}

std::vector<KeyRefusal> ReplayRefusals(std::vector<std::string> others) {
  for (const char* key :
       {"lambda", "value_weight", "clip", "dual_clip", "entropy", "target_kl", "adaptive_kl",
        "staleness", "max_staleness", "normalize_advantage", "minibatch", "epochs", "burn_in",
        "expectile", "inverse_temperature", "max_advantage_weight"})
    others.push_back(key);
  std::vector<KeyRefusal> refusals;
  for (std::string& key : others)
    refusals.push_back({.key = std::move(key),
                        .expected = "no such line",
                        .because = "{} learns values of actions from a replay, without it"});
  return refusals;
}

}  // namespace murmurate
