#include "server/learn/host_trainer.h"

#include <algorithm>
#include <cmath>

#include "server/learn/count_observations.h"
#include "server/parameters/local_store.h"
#include "server/parameters/network_store.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// Where one learner alone steps its parameters.
std::unique_ptr<ParameterStore> MakeStore(const ModelSpec& spec, const AlgorithmSettings& settings,
                                          const ParameterLayout& layout) {
  if (settings.policy.every > 1)
    return std::make_unique<NetworkStore>(spec, layout, OptimizerOf(settings),
                                          settings.max_grad_norm);
  return std::make_unique<LocalStore>(
      MakeOptimizer(OptimizerOf(settings), layout, {0, layout.trained_count()}),
      settings.max_grad_norm);
}

}  // namespace

HostTrainer::HostTrainer(const ModelSpec& spec, const AlgorithmSettings& settings,
                         std::unique_ptr<ParameterStore> store)
    : spec_(spec),
      settings_(settings),
      algorithm_(settings.kind->make(spec, settings)),
      targets_(spec, algorithm_->layout()),
      parameters_(algorithm_->layout().total),
      gradient_(algorithm_->layout().trained_count()),
      store_(store ? std::move(store) : MakeStore(spec, settings, algorithm_->layout())),
      before_(settings.target_kl > 0.0 && store_->alone() ? gradient_.size() : 0) {}

std::optional<std::uint64_t> HostTrainer::Open(std::uint64_t version, bool scores) {
  if (scores) {
    store_->Refresh(parameters_);
  } else if (!store_->BeginBatch(parameters_)) {
    return std::nullopt;
  }
  return version_ = store_->VersionBegun(version);
}

void HostTrainer::Fit(const AlgorithmSettings& settings) {
  SavedState carried;
  algorithm_->Save(StateWriter(&carried, "algorithm"));
  settings_ = settings;
  algorithm_ = settings.kind->make(spec_, settings);
  const Status loaded = algorithm_->Load(StateReader(carried, "algorithm"));
  MURMURATE_CHECK(loaded.ok(), "an algorithm reads what it has just written");
}

void HostTrainer::Begin(const TrainingBatch& batch, const BatchPlan& plan) {
  batch_ = &batch;
  plan_ = &plan;
}

BatchSums HostTrainer::Finish() {
  BatchSums sums;
  algorithm_->Prepare(parameters_, *batch_, *plan_);
  if (plan_->scores) {
    while (sums.begun < plan_->updates.size()) algorithm_->Score(sums.begun++, parameters_);
    store_->EndScoring();
    sums.version = version_;
  } else {
    Train(&sums);
    CountObservations(spec_, *batch_, *plan_, store_->ObservationsSeen(parameters_));
    store_->EndBatch(parameters_);
    sums.exchange = store_->CollectReport();
    sums.version = version_ = store_->VersionMade(version_);
  }
  sums.algorithm = algorithm_->sums();
  sums.row_answers = algorithm_->row_answers();
  return sums;
}

void HostTrainer::Train(BatchSums* sums) {
  while (sums->begun < plan_->updates.size()) {
    const PlannedUpdate& update = plan_->updates[sums->begun];
    if (!algorithm_->Gradient(sums->begun++, parameters_, gradient_)) return;
    const bool limited = plan_->one_pass && plan_->most_kl > 0.0 && before_.size() > 0;
    if (limited) std::ranges::copy(trained(), before_.begin());
    const double norm =
        update.networks == PlannedUpdate::kAllNetworks
            ? store_->Step(plan_->learning_rate, gradient_, trained())
            : store_->StepNetworks(update.networks, plan_->learning_rate, gradient_, trained());
    if (!std::isfinite(norm)) {
      ++sums->skipped;
      continue;
    }
    if (limited) ShortenStep();
    sums->norms += norm;
    ++sums->updates;
    if (update.moves_targets) targets_.Move(parameters_, plan_->target_part);
  }
}

/// For small steps the KL grows with the square of their length.
void HostTrainer::ShortenStep() {
  const double kl = algorithm_->MeasureChange(parameters_);
  if (!(kl > plan_->most_kl)) return;
  const auto part = static_cast<float>(std::sqrt(plan_->most_kl / kl));
  const std::span<float> after = trained();
  for (std::size_t i = 0; i < after.size(); ++i)
    after[i] = before_[i] + part * (after[i] - before_[i]);
}

void HostTrainer::SetParameters(std::span<const float> parameters) {
  MURMURATE_CHECK(parameters.size() == parameters_.size(), "the whole block");
  std::copy(parameters.begin(), parameters.end(), parameters_.begin());
}

bool HostTrainer::GoBack(std::span<const float> parameters) {
  if (!store_->ForgetGradients()) return false;
  SetParameters(parameters);
  return true;
}

void HostTrainer::Save(SavedState* state) const {
  store_->Save(StateWriter(state, "optimizer"));
  algorithm_->Save(StateWriter(state, "algorithm"));
}

Status HostTrainer::Load(const SavedState& state) {
  MURMURATE_RETURN_IF_ERROR(store_->Load(StateReader(state, "optimizer")));
  return algorithm_->Load(StateReader(state, "algorithm"));
}

std::unique_ptr<BatchTrainer> HostTrainer::SharedReplica() {
  auto store = store_->SharedReplica();
  if (store == nullptr) return nullptr;
  auto replica = std::make_unique<HostTrainer>(spec_, settings_, std::move(store));
  replica->SetParameters(parameters_);
  return replica;
}

}  // namespace murmurate
