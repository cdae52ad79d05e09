#include "server/device/device_trainer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "server/learn/count_observations.h"
#include "shared/core/check.h"

namespace murmurate {

DeviceMemoryNeed MeasureDeviceMemory(const ModelSpec& spec, const AlgorithmSettings& settings,
                                     bool steps_here) {
  const DeviceEngine engine(spec, settings, steps_here);
  DeviceMemoryNeed need{.total = engine.memory().bytes()};
  for (int i = 0; i < kMemoryPurposes; ++i)
    need.by_purpose[i] = engine.memory().bytes(static_cast<MemoryPurpose>(i));
  return need;
}

DeviceTrainer::DeviceTrainer(const ModelSpec& spec, const AlgorithmSettings& settings,
                             std::shared_ptr<Device> device, std::unique_ptr<ParameterStore> store)
    : spec_(spec),
      settings_(settings),
      device_(std::move(device)),
      store_(std::move(store)),
      where_("on " + device_->description().name) {}

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
  engine_ = std::make_unique<DeviceEngine>(spec_, settings_, store_ == nullptr);
  return engine_->Start(device_.get());
}

std::optional<std::uint64_t> DeviceTrainer::Open(std::uint64_t version, bool scores) {
  if (store_ == nullptr || engine_ == nullptr) return version_ = version;
  Keep();
  if (!Works()) return version_ = version;
  if (scores) {
    store_->Refresh(engine_->parameters().host());
  } else if (!store_->BeginBatch(engine_->parameters().host())) {
    engine_->ForgetPrefetched();  // which may be filled anew
    return std::nullopt;
  }
  engine_->parameters().EnqueueUp();
  return version_ = store_->VersionBegun(version);
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
    return GiveUp(std::move(started), std::move(parameters), std::move(state));
  SetParameters(parameters);
  if (store_ != nullptr) return;
  const Status loaded = engine_->parameters().Load(StateReader(state, "optimizer"));
  MURMURATE_CHECK(loaded.ok(), "an optimizer reads what it has just written");
}

void DeviceTrainer::Keep() {
  const std::span<const float> host = engine_->parameters().host();
  kept_.assign(host.begin(), host.end());
  Save(&kept_state_);
}

void DeviceTrainer::GiveUp(Status failure, std::vector<float> parameters, SavedState state) {
  engine_.reset();
  failure_ = std::move(failure);
  kept_ = std::move(parameters);
  kept_state_ = std::move(state);
}

std::span<const float> DeviceTrainer::parameters() const {
  return engine_ == nullptr ? std::span<const float>(kept_) : engine_->parameters().host();
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
    return;
  }
  engine_->EndBatch(!plan.scores);
}

BatchSums DeviceTrainer::Finish() {
  BatchSums sums;
  sums.version = version_;
  if (Works()) Train(&sums);
  if (store_ != nullptr && engine_ != nullptr && !Works())
    GiveUp(Health(), std::move(kept_), std::move(kept_state_));
  return sums;
}

void DeviceTrainer::Train(BatchSums* sums) {
  const bool elsewhere = store_ != nullptr && !plan_->scores;
  if (elsewhere) StepElsewhere(sums);
  engine_->Await();
  if (!Works()) return;
  if (!elsewhere) engine_->parameters().Adopt();
  const TrainingControl& control = engine_->result();
  for (std::size_t i = 0; i < sums->algorithm.size(); ++i) sums->algorithm[i] += control.sums[i];
  sums->begun = control.begun;
  if (store_ != nullptr) {
    FinishElsewhere(sums);
  } else if (!plan_->scores) {
    sums->updates = control.updates;
    sums->skipped = control.skipped;
    sums->norms = control.norms;
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
  CountObservations(spec_, *batch_, *plan_, store_->ObservationsSeen(engine_->parameters().host()));
  store_->EndBatch(engine_->parameters().host());
  sums->exchange = store_->CollectReport();
  sums->version = version_ = store_->VersionMade(version_);
}

void DeviceTrainer::SetParameters(std::span<const float> parameters) {
  MURMURATE_CHECK(parameters.size() == this->parameters().size(), "the whole block");
  if (engine_ == nullptr) return kept_.assign(parameters.begin(), parameters.end());
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
    for (const auto& [name, numbers] : kept_state_.floats) state->floats[name] = numbers;
    for (const auto& [name, numbers] : kept_state_.doubles) state->doubles[name] = numbers;
    for (const auto& [name, numbers] : kept_state_.words) state->words[name] = numbers;
    return;
  }
  const StateWriter writer(state, "optimizer");
  if (store_ != nullptr) return store_->Save(writer);
  if (!Works()) return engine_->parameters().SaveFirst(writer);
  engine_->parameters().Save(writer);
}

Status DeviceTrainer::Load(const SavedState& state) {
  if (!Works()) return Health();
  const StateReader reader(state, "optimizer");
  return store_ != nullptr ? store_->Load(reader) : engine_->parameters().Load(reader);
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
