#include "server/learn/learner.h"

#include <algorithm>
#include <cmath>

#include "server/learn/algorithm.h"
#include "server/learn/reward_scale.h"
#include "server/parameters/local_store.h"
#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

void Drop(TrainingBatch& batch, std::size_t place, LearnReport* report) {
  std::fill_n(batch.weight.data() + place * batch.length, batch.length, 0.0f);
  ++report->stale_trajectories;
  report->late_steps += static_cast<std::uint64_t>(batch.trajectories[place].steps);
}

}  // namespace

struct Learner::State {
  State(const ModelSpec& model_spec, const AlgorithmSettings& algorithm_settings,
        std::uint64_t seed, std::unique_ptr<ParameterStore> given_store,
        std::shared_ptr<RewardScale> given_rewards)
      : spec(model_spec),
        settings(algorithm_settings),
        rewards(std::move(given_rewards)),
        algorithm(spec, settings, DeriveSeed(seed, 1)),
        parameters(algorithm.layout().total),
        gradient(algorithm.layout().trained_count()),
        store(given_store ? std::move(given_store)
                          : std::make_unique<LocalStore>(
                                MakeOptimizer(OptimizerOf(settings), gradient.size()),
                                settings.max_grad_norm)) {}

  std::span<float> trained() { return std::span(parameters.data(), gradient.size()); }
  void WeighByAge(TrainingBatch& batch, LearnReport* report) const;
  void Train(std::uint64_t learned_steps, LearnReport* report);
  void UpdateStatistics(const TrainingBatch& batch);

  const ModelSpec spec;
  const AlgorithmSettings settings;
  Rates rates = Rates::Of(settings);
  const std::shared_ptr<RewardScale> rewards;
  Algorithm algorithm;
  AlignedFloats parameters, gradient;
  std::unique_ptr<ParameterStore> store;
  std::uint64_t version = 1;
};

void Learner::State::WeighByAge(TrainingBatch& batch, LearnReport* report) const {
  if (LearnsLabels(settings.name)) return;
  double sum = 0.0;
  int counted = 0;
  for (std::size_t place = 0; place < batch.trajectories.size(); ++place) {
    const BatchTrajectory& trajectory = batch.trajectories[place];
    if (trajectory.steps == 0) continue;
    if (trajectory.version > version) {  // of another life of this model: its age means nothing
      Drop(batch, place, report);
      continue;
    }
    const std::uint64_t age = version - trajectory.version;
    report->staleness_min = counted == 0 ? age : std::min<double>(report->staleness_min, age);
    report->staleness_max = std::max<double>(report->staleness_max, age);
    sum += static_cast<double>(age);
    ++counted;
    if (age > static_cast<std::uint64_t>(settings.max_staleness)) Drop(batch, place, report);
  }
  if (counted > 0) report->staleness_mean = sum / counted;
}

void Learner::State::Train(std::uint64_t learned_steps, LearnReport* report) {
  report->learning_rate = rates.learning_rate.At(learned_steps);
  double norms = 0.0;
  while (algorithm.NextGradient(parameters, gradient)) {
    const double norm = store->Step(report->learning_rate, gradient, trained());
    if (!std::isfinite(norm)) {
      ++report->skipped_updates;
      continue;
    }
    norms += norm;
    ++report->updates;
  }
  if (report->updates > 0) report->grad_norm = norms / static_cast<double>(report->updates);
}

void Learner::State::UpdateStatistics(const TrainingBatch& batch) {
  if (!spec.normalize_observation) return;
  const std::size_t length = static_cast<std::size_t>(batch.length);
  const std::size_t width = batch.layout.row_words();
  for (const int place : algorithm.places()) {
    UpdateObservationStatistics(spec, batch.observation.data() + place * length * width,
                                std::span(batch.weight.data() + place * length, length),
                                store->ObservationsSeen(parameters));
  }
}

Learner::Learner(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed,
                 const Initialization& beginning, std::unique_ptr<ParameterStore> store)
    : state_(std::make_unique<State>(spec, settings, seed, std::move(store),
                                     std::make_shared<RewardScale>(settings))) {
  InitializeParameters(spec, DeriveSeed(seed, 0), state_->parameters, beginning);
}

Learner::Learner(std::unique_ptr<State> state) : state_(std::move(state)) {}

Learner::~Learner() = default;

std::unique_ptr<Learner> Learner::Beside(std::uint64_t seed) const {
  auto store = state_->store->Beside();
  MURMURATE_CHECK(store != nullptr, "a store that several learners can share");
  std::unique_ptr<Learner> other(new Learner(std::make_unique<State>(
      state_->spec, state_->settings, seed, std::move(store), state_->rewards)));
  std::copy(state_->parameters.begin(), state_->parameters.end(),
            other->state_->parameters.begin());
  other->state_->version = state_->version;
  other->SetRates(state_->rates);
  return other;
}

void Learner::BeginWith(const WeightsMatch& match) { match.CopyTo(state_->parameters); }

void Learner::Save(SavedState* state) const {
  state_->store->Save(StateWriter(state, "optimizer"));
  state_->algorithm.Save(StateWriter(state, "algorithm"));
  state_->rewards->Save(StateWriter(state, "rewards"));
}

Status Learner::Load(std::uint64_t version, std::span<const float> parameters,
                     const SavedState& state) {
  if (parameters.size() != state_->parameters.size())
    return InvalidData("the saved model has " + std::to_string(parameters.size()) +
                       " parameters, this one " + std::to_string(state_->parameters.size()));
  MURMURATE_RETURN_IF_ERROR(state_->store->Load(StateReader(state, "optimizer")));
  MURMURATE_RETURN_IF_ERROR(state_->algorithm.Load(StateReader(state, "algorithm")));
  MURMURATE_RETURN_IF_ERROR(state_->rewards->Load(StateReader(state, "rewards")));
  std::copy(parameters.begin(), parameters.end(), state_->parameters.begin());
  state_->version = version;
  return {};
}

LearnReport Learner::Learn(TrainingBatch& batch, std::uint64_t learned_steps) {
  LearnReport report;
  if (batch.samples == TrainingBatch::Samples::kHeldOut) {
    state_->store->Refresh(state_->parameters);
    state_->version = state_->store->VersionBegun(state_->version);
    state_->algorithm.TakeUp(state_->parameters, batch, learned_steps);
    state_->algorithm.Score(state_->parameters);
    state_->store->EndScoring();
    state_->algorithm.Report(&report);
    report.held_out = true;
    report.version = state_->version;
    return report;
  }
  if (!state_->store->BeginBatch(state_->parameters)) {
    report.left_out = true;
    return report;
  }
  state_->version = state_->store->VersionBegun(state_->version);
  state_->WeighByAge(batch, &report);
  state_->rewards->Apply(batch);
  state_->algorithm.TakeUp(state_->parameters, batch, learned_steps);
  state_->Train(learned_steps, &report);
  state_->UpdateStatistics(batch);
  state_->store->EndBatch(state_->parameters);
  state_->algorithm.Report(&report);
  report.exchange = state_->store->TakeReport();
  report.version = state_->version = state_->store->VersionMade(state_->version);
  report.episodes.assign(batch.episodes.begin(), batch.episodes.end());
  return report;
}

std::shared_ptr<const Snapshot> Learner::TakeSnapshot() const {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->version = state_->version;
  snapshot->parameters = AlignedFloats(state_->parameters.size());
  std::copy(state_->parameters.begin(), state_->parameters.end(), snapshot->parameters.begin());
  return snapshot;
}

void Learner::SetRates(const Rates& rates) {
  state_->rates = rates;
  state_->algorithm.SetRates(rates);
}

void Learner::Interrupt() { state_->store->Interrupt(); }
const Rates& Learner::rates() const { return state_->rates; }
std::uint64_t Learner::version() const { return state_->version; }
const ModelSpec& Learner::spec() const { return state_->spec; }
const ParameterLayout& Learner::layout() const { return state_->algorithm.layout(); }
const RewardStatistics& Learner::reward_statistics() const { return state_->rewards->statistics(); }

}  // namespace murmurate
