#include "server/device/device_engine.h"

#include "shared/core/check.h"
#include "shared/model/network_plan.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

int StateFloats(const ModelSpec& spec) {
  const Result<NetworkPlan> plan = PlanNetwork(spec, kPolicyNetwork);
  MURMURATE_CHECK(plan.ok(), "a model that can be made");
  return plan->state_floats;
}

std::unique_ptr<DeviceReturns> MakeReturns(const AlgorithmSettings& settings, int most_rows,
                                           DeviceMemory* memory) {
  MURMURATE_CHECK(settings.kind->loss != nullptr, "an algorithm that a device can train");
  const LossForm form = settings.kind->loss(settings);
  if (!form.of_policy()) return nullptr;
  return std::make_unique<DeviceReturns>(settings, form.weighs_advantage, most_rows, memory);
}

}  // namespace

DeviceEngine::DeviceEngine(const ModelSpec& spec, const AlgorithmSettings& settings,
                           StepPlace place, const DeviceArithmetic& arithmetic)
    : settings_(settings),
      passes_(spec, settings, StateFloats(spec)),
      plan_(settings, &passes_, &memory_),
      batch_(TrajectoryLayout(spec, settings.trajectory_length),
             settings.batch_steps / settings.trajectory_length, &memory_),
      runner_(spec, settings, &passes_, &plan_, &batch_, arithmetic, &memory_),
      parameters_(runner_.layout(), settings, runner_.loss().norm_sums(), place, &memory_),
      returns_(MakeReturns(settings, passes_.most_rows(), &memory_)),
      statistics_(spec, settings, &memory_),
      limits_(place == StepPlace::kHere),
      prepare_([this] { EnqueuePrepare(); }),
      step_([this] {
        runner_.EnqueueGradient(parameters_.gradient());
        parameters_.EnqueueStep();
      }),
      join_([this] { parameters_.EnqueueJoin(); }),
      gradient_([this] { runner_.EnqueueGradient(parameters_.gradient()); }),
      score_([this] { runner_.EnqueueLoss(parameters_.gradient()); }),
      measure_([this] { EnqueueMeasure(); }) {}

DeviceEngine::~DeviceEngine() {
  if (device_ == nullptr) return;
  plan_.Download();  // nothing reads memory of the host any more
  for (RecordedStep* step : {&prepare_, &step_, &join_, &gradient_, &score_, &measure_})
    step->Drop(device_);
}

Status DeviceEngine::Start(Device* device) {
  MURMURATE_RETURN_IF_ERROR(memory_.Allocate(device));
  MURMURATE_RETURN_IF_ERROR(plan_.Start(device));
  device_ = device;
  MURMURATE_RETURN_IF_ERROR(parameters_.Start(device, &plan_));
  batch_.Start(device);
  runner_.Start(device, parameters_.parameters());
  statistics_.Upload(device, Stream::kMain);
  if (returns_ != nullptr) returns_->EnqueueClear(device, Stream::kMain);
  plan_.Download();
  return device->error().empty() ? Status() : ResourceError(device->error());
}

void DeviceEngine::BeginBatch(const TrainingBatch& batch, const BatchPlan& plan) {
  training_ = &batch;
  batch_.Upload(device_, batch);
  plan_.Upload(batch, plan, settings_);
  runner_.Begin(batch, returns_.get());
  for (int pass = 0; pass < passes_.counts().prepare; ++pass) prepare_.Run(device_);
  if (returns_ == nullptr || plan.scores) return;
  returns_->EnqueueCompute(device_, Stream::kMain, plan_.plan(),
                           {.length = batch.length,
                            .reward = batch_.Column(batch, batch.reward),
                            .flags = batch_.Column(batch, batch.flags)},
                           plan_.control());
}

void DeviceEngine::EnqueuePrepare() {
  runner_.EnqueueSeen();
  returns_->EnqueueRecord(device_, Stream::kMain, runner_.seen(),
                          batch_.Column(*training_, training_->log_prob), plan_.control());
}

void DeviceEngine::EnqueueMeasure() {
  runner_.EnqueueSeen();
  returns_->EnqueueChange(device_, Stream::kMain, runner_.seen(), plan_.plan().counts,
                          plan_.control());
}

void DeviceEngine::Gradient() {
  gradient_.Run(device_);
  parameters_.EnqueueGradientDown();
  plan_.Download();
}

void DeviceEngine::EndBatch(bool counts) {
  if (limits_ && passes_.counts().measure > 0) {
    for (int pass = 0; pass < passes_.counts().measure; ++pass) measure_.Run(device_);
    parameters_.optimizer()->EnqueueShorten(device_, Stream::kMain, plan_.control(),
                                            parameters_.parameters());
  }
  if (counts)
    statistics_.EnqueueUpdate(device_, Stream::kMain, plan_.plan(),
                              batch_.Column(*training_, training_->observation),
                              batch_.Column(*training_, training_->weight), parameters_.seen());
  parameters_.EnqueueDown();
  plan_.EnqueueDown();
}

}  // namespace murmurate
