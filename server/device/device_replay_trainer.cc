#include "server/device/device_replay_trainer.h"

#include <algorithm>
#include <utility>

#include "server/learn/count_observations.h"
#include "shared/core/check.h"

namespace murmurate {

DeviceReplayTrainer::DeviceReplayTrainer(const ModelSpec& spec, const AlgorithmSettings& settings,
                                         std::shared_ptr<Device> device)
    : spec_(spec),
      prioritizes_(settings.replay.prioritized()),
      device_(std::move(device)),
      where_("on " + device_->description().name),
      engine_(std::make_unique<DeviceReplayEngine>(spec, settings,
                                                   device_->description().arithmetic)) {}

Result<std::unique_ptr<BatchTrainer>> DeviceReplayTrainer::Make(const ModelSpec& spec,
                                                                const AlgorithmSettings& settings,
                                                                std::shared_ptr<Device> device) {
  std::unique_ptr<DeviceReplayTrainer> trainer(
      new DeviceReplayTrainer(spec, settings, std::move(device)));
  MURMURATE_RETURN_IF_ERROR(trainer->engine_->Start(trainer->device_.get()));
  return std::unique_ptr<BatchTrainer>(std::move(trainer));
}

std::size_t DeviceReplayTrainer::PassesOfPlan() const {
  if (learns()) return plan_->updates.size();
  if (!prioritizes_ || copies_kept_rows()) return 0;
  const auto steps = static_cast<std::size_t>(engine_->passes().steps());
  return (plan_->rows.size() + steps - 1) / steps;
}

std::span<const std::int32_t> DeviceReplayTrainer::RowsOf(std::size_t pass) const {
  if (learns()) {
    const PlannedUpdate& update = plan_->updates[pass];
    MURMURATE_CHECK(update.networks == PlannedUpdate::kAllNetworks,
                    "a device steps all networks at once");
    return std::span(plan_->order).subspan(update.first, update.count);
  }
  const auto steps = static_cast<std::size_t>(engine_->passes().steps());
  const std::size_t first = pass * steps;
  return std::span(plan_->rows).subspan(first, std::min(steps, plan_->rows.size() - first));
}

void DeviceReplayTrainer::Begin(const TrainingBatch& batch, const BatchPlan& plan) {
  MURMURATE_CHECK(!plan.scores, "only labels are held out");
  batch_ = &batch;
  plan_ = &plan;
  answers_.clear();
  passes_ = PassesOfPlan();
  begun_ = done_ = 0;
  random_ = Random(plan.seed);
  if (!Works()) return;
  if (learns()) engine_->Update(batch);
  engine_->BeginBatch(plan.learning_rate);
  BeginRound();
}

/// As many passes as go to the device at once.
void DeviceReplayTrainer::BeginRound() {
  const std::size_t most = static_cast<std::size_t>(engine_->passes().most());
  const std::size_t passes = std::min(most, passes_ - begun_);
  if (passes == 0) return;
  for (std::size_t i = 0; i < passes; ++i) {
    const std::size_t pass = begun_ + i;
    const bool moves = learns() && plan_->updates[pass].moves_targets;
    if (learns()) random_ = Random(DeriveSeed(plan_->seed, pass));
    engine_->Lay(static_cast<int>(i), *batch_, RowsOf(pass), moves ? plan_->target_part : 0.0f,
                 learns(), &random_);
  }
  begun_ += passes;
  engine_->Run(static_cast<int>(passes), learns(), begun_ == passes_);
}

void DeviceReplayTrainer::FinishRound() {
  engine_->Await();
  for (int pass = 0; done_ < begun_; ++pass, ++done_) {
    const auto errors = engine_->errors(pass).first(RowsOf(done_).size());
    answers_.insert(answers_.end(), errors.begin(), errors.end());
  }
}

BatchSums DeviceReplayTrainer::Finish() {
  BatchSums sums;
  sums.version = version_;
  while (Works() && done_ < passes_) {
    FinishRound();
    BeginRound();
  }
  if (!Works()) return sums;
  if (learns()) {
    engine_->Adopt();
    const TrainingControl& control = engine_->result();
    std::ranges::copy(control.sums, sums.algorithm.begin());
    sums.begun = control.begun;
    sums.updates = control.updates;
    sums.skipped = control.skipped;
    sums.norms = control.norms;
  }
  CountNewRows();
  sums.version = ++version_;
  sums.row_answers = answers_;
  return sums;
}

void DeviceReplayTrainer::CountNewRows() {
  const bool counts =
      spec_.normalized_count() > 0 && batch_->samples != TrainingBatch::Samples::kReplayed;
  if (!counts) return;
  DeviceParameters& parameters = engine_->parameters();
  CountObservations(spec_, *batch_, *plan_, parameters.host());
  parameters.EnqueueStatisticsUp();
  engine_->control().Download();
}

std::span<const float> DeviceReplayTrainer::parameters() const { return engine_->host(); }

void DeviceReplayTrainer::SetParameters(std::span<const float> parameters) {
  const std::span<float> host = engine_->parameters().host();
  MURMURATE_CHECK(parameters.size() == host.size(), "the whole block");
  std::ranges::copy(parameters, host.begin());
  engine_->parameters().EnqueueUp();
  engine_->control().Download();
}

bool DeviceReplayTrainer::GoBack(std::span<const float> parameters) {
  if (!Works()) return false;
  engine_->parameters().Forget();
  SetParameters(parameters);
  return true;
}

void DeviceReplayTrainer::Save(SavedState* state) const {
  engine_->Save(StateWriter(state, "optimizer"), StateWriter(state, "algorithm"));
}

Status DeviceReplayTrainer::Load(const SavedState& state) {
  if (!Works()) return Health();
  return engine_->Load(StateReader(state, "optimizer"), StateReader(state, "algorithm"));
}

Status DeviceReplayTrainer::Health() const {
  const std::string error = device_->error();
  return error.empty() ? Status() : ResourceError(error);
}

}  // namespace murmurate
