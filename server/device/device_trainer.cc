#include "server/device/device_trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/learn/count_observations.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

void CountSteps(const TrainingControl& control, BatchSums* sums) {
  sums->updates = control.updates;
  sums->skipped = control.skipped;
  sums->norms = control.norms;
}

}  // namespace

DeviceTrainer::DeviceTrainer(const ModelSpec& spec, const AlgorithmSettings& settings,
                             std::shared_ptr<Device> device, std::unique_ptr<ParameterStore> store)
    : spec_(spec),
      settings_(settings),
      device_(std::move(device)),
      store_(std::move(store)),
      where_("on " + device_->description().name) {
  CollectiveStore* const collective = store_ == nullptr ? nullptr : store_->collective();
  if (collective == nullptr) return;
  if (device_->rank_sums() != nullptr)
    ranks_ = std::make_unique<DeviceRankSteps>(collective, device_.get());
  else
    collective->OfferProcessor(nullptr, "this device has no sums over ranks");
}

StepPlace DeviceTrainer::place() const {
  if (store_ == nullptr) return StepPlace::kHere;
  return ranks_ == nullptr ? StepPlace::kElsewhere : StepPlace::kRanks;
}

Result<std::unique_ptr<BatchTrainer>> DeviceTrainer::Make(const ModelSpec& spec,
                                                          const AlgorithmSettings& settings,
                                                          std::shared_ptr<Device> device,
                                                          std::unique_ptr<ParameterStore> store) {
  std::unique_ptr<DeviceTrainer> trainer(
      new DeviceTrainer(spec, settings, std::move(device), std::move(store)));
  MURMURATE_RETURN_IF_ERROR(trainer->Start());
  return std::unique_ptr<BatchTrainer>(std::move(trainer));
}

Status DeviceTrainer::Start() {
  engine_ =
      std::make_unique<DeviceEngine>(spec_, settings_, place(), device_->description().arithmetic);
  return engine_->Start(device_.get());
}

std::optional<std::uint64_t> DeviceTrainer::Open(std::uint64_t version, bool scores) {
  if (store_ == nullptr || engine_ == nullptr) return version_ = version;
  if (place() == StepPlace::kElsewhere) Keep();
  if (!Works()) return version_ = version;
  if (scores) {
    store_->Refresh(engine_->parameters().host());
  } else if (!store_->BeginBatch(engine_->parameters().host())) {
    engine_->ForgetPrefetched();  // which may be filled anew
    return std::nullopt;
  }
  if (ranks_ != nullptr && !ranks_->moved_in() && !scores) ChooseStepPlace();
  if (ranks_ == nullptr && Works()) engine_->parameters().EnqueueUp();
  return version_ = store_->VersionBegun(version);
}

/// The parameters are those that the store has left on the host.
void DeviceTrainer::ChooseStepPlace() {
  const std::span<const float> host = engine_->parameters().host();
  const std::vector<float> parameters(host.begin(), host.end());
  if (store_->collective()->steps_elsewhere()) {
    engine_->parameters().EnqueueUp();
    const Status moved = ranks_->MoveIn(engine_.get());
    MURMURATE_CHECK(moved.ok(), "an optimizer reads what another rank's has written");
    return;
  }
  ranks_.reset();
  engine_.reset();  // its memory is free for the new one
  if (Status started = Start(); !started.ok()) return GiveUp(std::move(started), {parameters, {}});
  SetParameters(parameters);
}

std::optional<Moments> DeviceTrainer::PopReturns() {
  return store_ == nullptr ? std::nullopt : store_->PopReturns();
}

void DeviceTrainer::ShareReturns(const Moments& own) {
  if (store_ != nullptr) store_->ShareReturns(own);
}

/// The optimizer's state and the parameters outlive the room for batches of another shape.
void DeviceTrainer::Fit(const AlgorithmSettings& settings) {
  if (!Works()) return;
  SavedState state;
  Save(&state);
  const std::span<const float> before = this->parameters();
  std::vector<float> parameters(before.begin(), before.end());
  settings_ = settings;
  engine_.reset();  // its memory is free for the new one
  if (Status started = Start(); !started.ok())
    return GiveUp(std::move(started), {std::move(parameters), std::move(state)});
  SetParameters(parameters);
  if (place() == StepPlace::kElsewhere || (ranks_ != nullptr && !ranks_->moved_in())) return;
  if (ranks_ != nullptr) ranks_->CarrySeen(engine_.get());
  const Status loaded = engine_->parameters().Load(StateReader(state, "optimizer"));
  MURMURATE_CHECK(loaded.ok(), "an optimizer reads what it has just written");
}

void DeviceTrainer::Keep() {
  const std::span<const float> host = engine_->parameters().host();
  kept_.parameters.assign(host.begin(), host.end());
  Save(&kept_.state);
}

void DeviceTrainer::GiveUp(Status failure, Kept kept) {
  engine_.reset();
  failure_ = std::move(failure);
  kept_ = std::move(kept);
}

std::span<const float> DeviceTrainer::parameters() const {
  return engine_ == nullptr ? std::span<const float>(kept_.parameters)
                            : engine_->parameters().host();
}

void DeviceTrainer::Begin(const TrainingBatch& batch, const BatchPlan& plan) {
  batch_ = &batch;
  plan_ = &plan;
  if (!Works()) return;
  engine_->BeginBatch(batch, plan);
  if (plan.scores) {
    for (int i = 0; i < engine_->updates(); ++i) engine_->Score();
  } else if (store_ == nullptr) {
    for (int i = 0; i < engine_->updates(); ++i) engine_->Step();
  } else {
    return;  // others are waited for
  }
  engine_->EndBatch(!plan.scores);
}

BatchSums DeviceTrainer::Finish() {
  BatchSums sums;
  sums.version = version_;
  if (Works()) Train(&sums);
  if (place() == StepPlace::kElsewhere && engine_ != nullptr && !Works())
    GiveUp(Health(), std::move(kept_));
  return sums;
}

void DeviceTrainer::Train(BatchSums* sums) {
  if (steps_elsewhere()) StepElsewhere(sums);
  sums->left_out = steps_with_ranks() && !ranks_->Train(engine_.get(), plan_->learning_rate);
  if (sums->left_out || !Works()) return;
  engine_->Await();
  if (!Works()) return;
  if (!steps_elsewhere()) engine_->parameters().Adopt();
  const TrainingControl& control = engine_->result();
  for (std::size_t i = 0; i < sums->algorithm.size(); ++i) sums->algorithm[i] += control.sums[i];
  sums->begun = control.begun;
  if (!steps_elsewhere() && !plan_->scores) CountSteps(control, sums);
  if (store_ != nullptr) {
    FinishElsewhere(sums);
  } else if (!plan_->scores) {
    sums->version = ++version_;
  }
}

void DeviceTrainer::StepElsewhere(BatchSums* sums) {
  const std::span<float> trained =
      engine_->parameters().host().first(engine_->parameters().host_gradient().size());
  bool stepped = false;
  for (int i = 0; i < engine_->updates(); ++i) {
    if (std::exchange(stepped, false)) engine_->parameters().EnqueueUp();
    engine_->Gradient();
    if (!Works() || engine_->result().stopped != 0) break;
    engine_->parameters().AddNorms(&sums->algorithm);
    const double norm =
        store_->Step(plan_->learning_rate, engine_->parameters().host_gradient(), trained);
    if (!std::isfinite(norm)) {
      ++sums->skipped;
      continue;
    }
    sums->norms += norm;
    ++sums->updates;
    stepped = true;
  }
}

void DeviceTrainer::FinishElsewhere(BatchSums* sums) {
  if (plan_->scores) return store_->EndScoring();
  const std::span<float> parameters = engine_->parameters().host();
  if (ranks_ != nullptr) {
    ranks_->Merge(engine_.get());
  } else {
    CountObservations(spec_, *batch_, *plan_, store_->ObservationsSeen(parameters));
    store_->EndBatch(parameters);
  }
  sums->exchange = store_->CollectReport();
  sums->version = version_ = store_->VersionMade(version_);
}

void DeviceTrainer::SetParameters(std::span<const float> parameters) {
  MURMURATE_CHECK(parameters.size() == this->parameters().size(), "the whole block");
  if (engine_ == nullptr) return kept_.parameters.assign(parameters.begin(), parameters.end());
  std::ranges::copy(parameters, engine_->parameters().host().begin());
  engine_->parameters().EnqueueUp();
}

bool DeviceTrainer::GoBack(std::span<const float> parameters) {
  if (!Works() || (store_ != nullptr && !store_->ForgetGradients())) return false;
  if (store_ == nullptr) engine_->parameters().Forget();
  SetParameters(parameters);
  return true;
}

void DeviceTrainer::Save(SavedState* state) const {
  if (engine_ == nullptr) {
    for (const auto& [name, numbers] : kept_.state.floats) state->floats[name] = numbers;
    for (const auto& [name, numbers] : kept_.state.doubles) state->doubles[name] = numbers;
    for (const auto& [name, numbers] : kept_.state.words) state->words[name] = numbers;
    return;
  }
  const StateWriter writer(state, "optimizer");
  const bool moved_in = ranks_ != nullptr && ranks_->moved_in();
  if (store_ != nullptr && !moved_in) return store_->Save(writer);
  if (!Works()) return engine_->parameters().SaveFirst(writer);
  engine_->parameters().Save(writer);
}

Status DeviceTrainer::Load(const SavedState& state) {
  if (!Works()) return Health();
  const StateReader reader(state, "optimizer");
  const bool on_device = store_ == nullptr || (ranks_ != nullptr && ranks_->moved_in());
  return on_device ? engine_->parameters().Load(reader) : store_->Load(reader);
}

Status DeviceTrainer::Health() const {
  if (!failure_.ok()) return failure_;
  const std::string error = device_->error();
  return error.empty() ? Status() : ResourceError(error);
}

void DeviceTrainer::Interrupt() {
  if (store_ != nullptr) store_->Interrupt();
}

}  // namespace murmurate
