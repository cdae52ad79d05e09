#include "server/learn/learner.h"

#include <algorithm>

#include "server/learn/algorithms.h"
#include "server/learn/host_trainer.h"
#include "server/learn/rate_by_kl.h"
#include "server/learn/reward_scale.h"
#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

/// The first steps of a trajectory are not learned from.
void Drop(TrainingBatch& batch, std::size_t slot, int steps, LearnReport* report) {
  std::ranges::fill(batch.weight.subspan(slot * batch.length, steps), 0.0f);
  if (steps == batch.trajectories[slot].steps) ++report->stale_trajectories;
  report->late_steps += static_cast<std::uint64_t>(steps);
}

/// Gives steps more than `max_staleness` versions old at `version`, and trajectories of another
/// life of the model (newer than it), the weight 0; reports ages and what it dropped.
void WeighByAge(std::uint64_t version, int max_staleness, TrainingBatch& batch,
                LearnReport* report) {
  double sum = 0.0;
  int counted = 0;
  for (std::size_t slot = 0; slot < batch.trajectories.size(); ++slot) {
    const BatchTrajectory& trajectory = batch.trajectories[slot];
    if (trajectory.steps == 0) continue;
    if (trajectory.newest_version() > version) {  // of another life: its age means nothing
      Drop(batch, slot, trajectory.steps, report);
      continue;
    }
    const std::uint64_t oldest = version - trajectory.version;
    const std::uint64_t newest = version - trajectory.newest_version();
    report->staleness_min = counted == 0 ? newest : std::min<double>(report->staleness_min, newest);
    report->staleness_max = std::max<double>(report->staleness_max, oldest);
    sum += trajectory.MeanAge(version);
    ++counted;
    int late = 0;
    trajectory.changes.EachRun(trajectory.steps, [&](std::uint64_t later, int, int end) {
      if (oldest - later > static_cast<std::uint64_t>(max_staleness)) late = end;
    });
    if (late > 0) Drop(batch, slot, late, report);
  }
  if (counted > 0) report->staleness_mean = sum / counted;
}

}  // namespace

struct Learner::State {
  State(const ModelSpec& model_spec, const AlgorithmSettings& algorithm_settings,
        std::uint64_t model_seed, std::unique_ptr<BatchTrainer> given_trainer,
        std::shared_ptr<RewardScale> given_rewards)
      : spec(model_spec),
        seed(model_seed),
        layout(spec),
        configured(algorithm_settings),
        settings(algorithm_settings),
        rewards(std::move(given_rewards)),
        planner(settings.kind->make_planner(spec, settings, DeriveSeed(model_seed, 1))),
        trainer(std::move(given_trainer)) {}

  void ScaleRewards(TrainingBatch& batch);
  void Report(const TrainingBatch& batch, const BatchSums& sums, LearnReport* report) const;
  void Fit(const BatchShape& shape);

  const ModelSpec spec;
  const std::uint64_t seed;
  const ParameterLayout layout;
  const AlgorithmSettings configured;  ///< for batches of the shape that it was made for
  AlgorithmSettings settings;          ///< for those of the last one's
  Rates rates = Rates::Of(settings);
  RateByKl rate_by_kl{settings.adaptive_kl};
  const std::shared_ptr<RewardScale> rewards;
  std::unique_ptr<Planner> planner;
  const std::unique_ptr<BatchTrainer> trainer;
  std::uint64_t version = 1, learned_steps = 0;
  std::span<const float> row_answers = {};  ///< of the trainer
};

void Learner::State::Fit(const BatchShape& shape) {
  if (settings.kind->replays) return;  // it is made for the replay's batches, whatever comes in
  if (shape ==
      BatchShape{settings.trajectory_length, settings.batch_steps / settings.trajectory_length})
    return;
  SavedState drawn;
  planner->Save(StateWriter(&drawn, "planner"));
  settings = WithShape(configured, shape, spec.recurrent());
  planner = settings.kind->make_planner(spec, settings, 0);
  const Status loaded = planner->Load(StateReader(drawn, "planner"));
  MURMURATE_CHECK(loaded.ok(), "a planner reads what it has just written");
  trainer->Fit(settings);
}

/// By the deviation that all who learn the model have, as far as it is known here.
void Learner::State::ScaleRewards(TrainingBatch& batch) {
  if (const auto all = trainer->PopReturns()) rewards->Adopt(*all);
  rewards->Apply(batch);
  trainer->ShareReturns(rewards->own());
}

void Learner::State::Report(const TrainingBatch& batch, const BatchSums& sums,
                            LearnReport* report) const {
  ReportMetrics(*settings.kind, sums.algorithm, report);
  report->version = sums.version;
  report->held_out = planner->plan().scores;
  if (report->held_out) return;
  report->counted_only = settings.kind->replays && planner->plan().updates.empty();
  report->trained_steps = planner->plan().rows.size();
  report->learning_rate = planner->plan().learning_rate * sums.exchange.rate_factor;
  report->updates = sums.updates;
  report->skipped_updates = sums.skipped;
  if (sums.updates > 0) report->grad_norm = sums.norms / static_cast<double>(sums.updates);
  report->exchange = sums.exchange;
  if (!batch.learned) report->episodes.assign(batch.episodes.begin(), batch.episodes.end());
}

Learner::Learner(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed,
                 const Initialization& beginning, std::unique_ptr<ParameterStore> store)
    : Learner(spec, settings, seed, beginning,
              std::make_unique<HostTrainer>(spec, settings, std::move(store))) {}

Learner::Learner(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed,
                 const Initialization& beginning, std::unique_ptr<BatchTrainer> trainer)
    : state_(std::make_unique<State>(spec, settings, seed, std::move(trainer),
                                     std::make_shared<RewardScale>(settings))) {
  AlignedFloats parameters(state_->layout.total);
  InitializeParameters(spec, DeriveSeed(seed, 0), parameters, beginning);
  state_->trainer->SetParameters(parameters);
}

Learner::Learner(std::unique_ptr<State> state) : state_(std::move(state)) {}

Learner::~Learner() = default;

std::unique_ptr<Learner> Learner::SharedReplica(std::uint64_t seed) const {
  auto trainer = state_->trainer->SharedReplica();
  MURMURATE_CHECK(trainer != nullptr, "parameters that several learners can share");
  std::unique_ptr<Learner> other(new Learner(std::make_unique<State>(
      state_->spec, state_->settings, seed, std::move(trainer), state_->rewards)));
  other->state_->version = state_->version;
  other->state_->learned_steps = state_->learned_steps;
  other->state_->rates = state_->rates;
  return other;
}

void Learner::BeginWith(const WeightsMatch& match) {
  AlignedFloats parameters(state_->layout.total);
  std::ranges::copy(state_->trainer->parameters(), parameters.begin());
  match.CopyTo(parameters);
  state_->trainer->SetParameters(parameters);
}

void Learner::Save(SavedState* state) const {
  state_->trainer->Save(state);
  state_->planner->Save(StateWriter(state, "algorithm"));
  state_->rewards->Save(StateWriter(state, "rewards"));
  state_->rate_by_kl.Save(StateWriter(state, "rate"));
}

Status Learner::Load(std::uint64_t version, std::uint64_t learned_steps,
                     std::span<const float> parameters, const SavedState& state) {
  if (parameters.size() != state_->layout.total)
    return InvalidData("the saved model has " + std::to_string(parameters.size()) +
                       " parameters, this one " + std::to_string(state_->layout.total));
  MURMURATE_RETURN_IF_ERROR(state_->trainer->Load(state));
  MURMURATE_RETURN_IF_ERROR(state_->planner->Load(StateReader(state, "algorithm")));
  MURMURATE_RETURN_IF_ERROR(state_->rewards->Load(StateReader(state, "rewards")));
  MURMURATE_RETURN_IF_ERROR(state_->rate_by_kl.Load(StateReader(state, "rate")));
  state_->trainer->SetParameters(parameters);
  state_->version = version;
  state_->learned_steps = learned_steps;
  return {};
}

LearnReport Learner::Learn(TrainingBatch& batch, std::uint64_t learned_steps,
                           const VisitNext& visit_next) {
  LearnReport report;
  state_->Fit(ShapeOf(batch));
  const bool held_out = batch.samples == TrainingBatch::Samples::kHeldOut;
  const auto version = state_->trainer->Open(state_->version, held_out);
  if (!version) {
    report.left_out = true;
    return report;
  }
  state_->version = *version;
  state_->learned_steps = learned_steps;
  if (!held_out) {
    if (state_->settings.kind->own_play && !state_->settings.kind->replays)
      WeighByAge(*version, state_->settings.max_staleness, batch, &report);
    if (batch.samples == TrainingBatch::Samples::kReplayed)
      state_->rewards->ScaleReplayed(batch);
    else if (!batch.learned)
      state_->ScaleRewards(batch);
  }
  state_->trainer->Begin(batch, state_->planner->Plan(batch, state_->rates, learned_steps,
                                                      state_->rate_by_kl.factor()));
  if (visit_next)
    visit_next([this](const TrainingBatch& next) { state_->trainer->Prefetch(next); });
  const BatchSums sums = state_->trainer->Finish();
  report.failure = state_->trainer->Health();
  report.left_out = sums.left_out || !report.failure.ok();
  if (report.left_out) return report;
  state_->planner->Began(sums.begun);
  state_->row_answers = sums.row_answers;
  state_->Report(batch, sums, &report);
  if (!held_out && sums.updates > 0) state_->rate_by_kl.Learned(report.approx_kl);
  state_->version = sums.version;
  batch.learned |= !held_out;
  return report;
}

std::shared_ptr<const Snapshot> Learner::MakeSnapshot() const {
  auto snapshot = std::make_shared<Snapshot>();
  snapshot->version = state_->version;
  snapshot->act = state_->settings.kind->act(state_->settings, state_->learned_steps);
  snapshot->parameters = AlignedFloats(state_->layout.total);
  std::ranges::copy(state_->trainer->parameters(), snapshot->parameters.begin());
  return snapshot;
}

bool Learner::GoBack(std::span<const float> parameters) {
  return state_->trainer->GoBack(parameters);
}

void Learner::SetRates(const Rates& rates) {
  if (!(rates.learning_rate == state_->rates.learning_rate)) state_->rate_by_kl.Stop();
  state_->rates = rates;
}
void Learner::Interrupt() { state_->trainer->Interrupt(); }
std::string Learner::Progress() const { return state_->trainer->Progress(); }
Result<std::unique_ptr<ExperienceStore>> Learner::MakeStore(const TrajectoryLayout& layout,
                                                            BatchMemory& memory) const {
  return state_->settings.kind->make_store(
      state_->settings,
      {layout, DeriveSeed(state_->seed, 2), memory, state_->trainer->copies_kept_rows()});
}

std::span<const float> Learner::row_answers() const { return state_->row_answers; }
const Rates& Learner::rates() const { return state_->rates; }
std::uint64_t Learner::version() const { return state_->version; }
const ModelSpec& Learner::spec() const { return state_->spec; }
const ParameterLayout& Learner::layout() const { return state_->layout; }
const Moments& Learner::reward_statistics() const { return state_->rewards->statistics(); }

}  // namespace murmurate
