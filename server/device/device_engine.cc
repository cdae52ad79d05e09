#include "server/device/device_engine.h"

#include <algorithm>

#include "server/compute/vector_math.h"
#include "server/learn/on_policy_sums.h"
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

std::size_t ValueBegin(const ParameterLayout& layout) {
  for (const TensorSlot& tensor : layout.tensors)
    if (tensor.name.starts_with("value.")) return tensor.offset;
  return layout.trained_count();
}

LossForm FormOf(const AlgorithmSettings& settings) {
  MURMURATE_CHECK(settings.kind->loss != nullptr, "an algorithm that a device can train");
  return settings.kind->loss(settings);
}

}  // namespace

DeviceEngine::DeviceEngine(const ModelSpec& spec, const AlgorithmSettings& settings,
                           bool steps_here)
    : settings_(settings),
      of_policy_(FormOf(settings).of_policy()),
      shared_value_(!spec.Find(kValueNetwork)->shares.empty()),
      passes_(spec, settings, StateFloats(spec)),
      plan_(settings, &passes_, &memory_),
      parameters_(memory_.Plan<float>(MemoryPurpose::kParameters, ParameterLayout(spec).total)),
      gradient_(
          memory_.Plan<float>(MemoryPurpose::kParameters, ParameterLayout(spec).trained_count())),
      log_prob_(memory_.Plan<float>(MemoryPurpose::kActivations,
                                    static_cast<std::size_t>(passes_.most_rows()))),
      deviation_(memory_.Plan<float>(MemoryPurpose::kActivations, log_prob_.size())),
      inputs_(spec, ParameterLayout(spec), passes_.most_rows(), &memory_),
      network_(spec, passes_.most_rows(), inputs_.inputs(), &memory_),
      rows_(spec, passes_.most_rows(), passes_.update_shape().lanes, network_.state_floats(),
            &memory_),
      batch_(TrajectoryLayout(spec, settings.trajectory_length),
             settings.batch_steps / settings.trajectory_length, &memory_),
      loss_(MakeDeviceLoss(spec, settings, passes_.most_rows(), &memory_)),
      returns_(of_policy_
                   ? std::make_unique<DeviceReturns>(settings, FormOf(settings).weighs_advantage,
                                                     passes_.most_rows(), &memory_)
                   : nullptr),
      optimizer_(steps_here ? std::make_unique<DeviceOptimizer>(layout(), settings,
                                                                loss_->norm_sums(), &memory_)
                            : nullptr),
      statistics_(std::make_unique<DeviceObservationStatistics>(spec, settings, &memory_)),
      value_at_(ValueBegin(layout())),
      deviation_at_(
          loss_->head().free_deviations() == 0 ? 0 : layout().Find("policy.log_deviation").offset),
      prepare_([this] { EnqueuePrepare(); }),
      step_([this] {
        EnqueueGradient();
        optimizer_->EnqueueStep(device_, Stream::kMain, plan_.control(), gradient_.data(),
                                parameters_.data());
      }),
      only_gradient_([this] { EnqueueGradient(); }),
      score_([this] { EnqueueLoss(); }),
      measure_([this] { EnqueueMeasure(); }) {}

DeviceEngine::~DeviceEngine() {
  if (device_ == nullptr) return;
  device_->Await(done_);
  for (RecordedStep* step : {&prepare_, &step_, &only_gradient_, &score_, &measure_})
    step->Drop(device_);
}

Status DeviceEngine::Start(Device* device) {
  MURMURATE_RETURN_IF_ERROR(memory_.Allocate(device));
  const std::size_t state = optimizer_ == nullptr ? 0 : optimizer_->state_floats();
  host_ = std::make_unique<PinnedBlock>(
      device, (2 * parameters_.size() + std::max(gradient_.size(), state)) * sizeof(float));
  if (host_->data() == nullptr)
    return ResourceError(
        "no memory is left that a device can copy to: raise the limit on locked "
        "memory (ulimit -l), or write device = \"cpu\"");
  MURMURATE_RETURN_IF_ERROR(plan_.Start(device));
  device_ = device;
  done_ = device->MakeEvent();
  batch_.Start(device);
  inputs_.Upload(device);
  loss_->Upload(device, Stream::kMain);
  statistics_->Upload(device, Stream::kMain);
  std::ranges::fill(parameters(), 0.0f);
  UploadParameters();
  if (returns_ != nullptr) returns_->EnqueueClear(device, Stream::kMain);
  plan_.UploadControl(device);
  if (optimizer_ != nullptr) {
    optimizer_->Upload(device, Stream::kMain);
    ForgetOptimizer();
  }
  device->Record(Stream::kMain, done_);
  device->Await(done_);
  return {};
}

std::span<float> DeviceEngine::HostBlock(int block) const {
  float* const first = reinterpret_cast<float*>(host_->data());
  return {first + static_cast<std::size_t>(block) * parameters_.size(), parameters_.size()};
}

std::span<float> DeviceEngine::gradient() const { return {HostBlock(2).data(), gradient_.size()}; }

std::span<float> DeviceEngine::HostState() const {
  return {HostBlock(2).data(), optimizer_->state_floats()};
}

void DeviceEngine::UploadParameters() {
  device_->CopyIn(Stream::kMain, parameters_.data(), parameters().data(), parameters_.bytes());
}

void DeviceEngine::ForgetOptimizer() {
  optimizer_->EnqueueForget(device_, Stream::kMain, plan_.control());
  DownloadControl();
}

/// The control block as it is on the device now.
void DeviceEngine::DownloadControl() {
  plan_.Download(device_);
  device_->Record(Stream::kMain, done_);
  device_->Await(done_);
}

void DeviceEngine::SaveOptimizer(const StateWriter& writer) {
  const std::span<float> state = HostState();
  optimizer_->EnqueueSave(device_, Stream::kMain, state.data());
  DownloadControl();
  optimizer_->Save(writer, state, plan_.host().optimizer_steps);
}

void DeviceEngine::SaveFirst(const StateWriter& writer) const {
  std::ranges::fill(HostState(), optimizer_->first_value());
  optimizer_->Save(writer, HostState(), 0);
}

Status DeviceEngine::LoadOptimizer(const StateReader& reader) {
  const std::span<float> state = HostState();
  std::uint64_t steps = 0;
  MURMURATE_RETURN_IF_ERROR(optimizer_->Load(reader, state, &steps));
  plan_.host().optimizer_steps = steps;
  plan_.UploadControl(device_);
  optimizer_->EnqueueLoad(device_, Stream::kMain, state.data());
  DownloadControl();
  return {};
}

void DeviceEngine::BeginBatch(const TrainingBatch& batch, const BatchPlan& plan) {
  training_ = &batch;
  batch_.Upload(device_, batch);
  plan_.Upload(device_, batch, plan, settings_);
  for (int pass = 0; pass < passes_.prepare_passes(); ++pass) prepare_.Run(device_);
  if (returns_ == nullptr || plan.scores) return;
  returns_->EnqueueCompute(device_, Stream::kMain, plan_.plan(),
                           {.length = batch.length,
                            .reward = batch_.Column(batch, batch.reward),
                            .flags = batch_.Column(batch, batch.flags)},
                           plan_.control());
}

/// A pass whose rows are not learned from: what the network gives for them.
void DeviceEngine::EnqueueSeen(const PassShape& shape) {
  device_->Launch(Stream::kMain, {.blocks = 1, .threads = 32}, BeginPassCall{plan_.control()});
  rows_.Gather(device_, plan_.control(), plan_.lists(), *training_, batch_, nullptr, shape.rows());
  if (network_.state_floats() > 0)
    rows_.GatherLanes(device_, plan_.control(), plan_.lists(), shape, true);
  inputs_.Gather(device_, plan_.control(), plan_.lists(), batch_.Observations(*training_),
                 parameters_.data(), shape.rows());
  network_.Forward(device_, Stream::kMain, parameters_.data(), rows_.rows(shape));
  const DeviceMinibatch rows = rows_.minibatch(shape.rows());
  loss_->head().Evaluate(device_, Stream::kMain,
                         {.outputs = network_.outputs().data(),
                          .log_deviations = log_deviations(),
                          .actions = rows.actions,
                          .mask = rows.mask},
                         shape.rows(), log_prob_.data(), nullptr,
                         loss_->head().has_deviations() ? deviation_.data() : nullptr);
}

const float* DeviceEngine::log_deviations() const {
  return loss_->head().free_deviations() == 0 ? nullptr : parameters_.data() + deviation_at_;
}

DeviceSeenRows DeviceEngine::Seen(const PassShape& shape) const {
  DeviceSeenRows seen = rows_.seen(shape.rows());
  seen.values = network_.values().data();
  seen.log_prob = log_prob_.data();
  seen.deviation = loss_->head().has_deviations() ? deviation_.data() : nullptr;
  return seen;
}

void DeviceEngine::EnqueuePrepare() {
  EnqueueSeen(passes_.prepare_shape());
  returns_->EnqueueRecord(device_, Stream::kMain, Seen(passes_.prepare_shape()),
                          batch_.Column(*training_, training_->log_prob), plan_.control());
}

void DeviceEngine::EnqueueMeasure() {
  EnqueueSeen(passes_.prepare_shape());
  returns_->EnqueueChange(device_, Stream::kMain, Seen(passes_.prepare_shape()),
                          plan_.plan().counts, plan_.control());
}

/// The rows of an update through the network.
void DeviceEngine::EnqueueForward() {
  device_->Launch(Stream::kMain, {.blocks = 1, .threads = 32}, BeginPassCall{plan_.control()});
  const PassShape burn_in = passes_.burn_in_shape(), shape = passes_.update_shape();
  const BatchObservations observations = batch_.Observations(*training_);
  if (burn_in.rows() > 0) {
    rows_.GatherLanes(device_, plan_.control(), plan_.burn_in_lists(), burn_in, true);
    inputs_.Gather(device_, plan_.control(), plan_.burn_in_lists(), observations,
                   parameters_.data(), burn_in.rows());
    network_.Forward(device_, Stream::kMain, parameters_.data(), rows_.KeepingState(burn_in),
                     shared_value_);
  }
  if (network_.state_floats() > 0)
    rows_.GatherLanes(device_, plan_.control(), plan_.lists(), shape, burn_in.rows() == 0);
  rows_.Gather(device_, plan_.control(), plan_.lists(), *training_, batch_, returns_.get(),
               shape.rows());
  inputs_.Gather(device_, plan_.control(), plan_.lists(), observations, parameters_.data(),
                 shape.rows());
  network_.Forward(device_, Stream::kMain, parameters_.data(),
                   rows_.rows(shape, burn_in.rows() > 0));
}

void DeviceEngine::EnqueueLoss() {
  EnqueueForward();
  DeviceMinibatch minibatch = rows_.minibatch(passes_.update_shape().rows());
  minibatch.outputs = network_.outputs().data();
  minibatch.values = network_.values().data();
  minibatch.log_deviations = log_deviations();
  minibatch.d_outputs = network_.d_outputs().data();
  minibatch.d_values = network_.d_values().data();
  loss_->Enqueue(device_, Stream::kMain, minibatch, plan_.control());
}

void DeviceEngine::EnqueueGradient() {
  EnqueueLoss();
  const PassShape burn_in = passes_.burn_in_shape();
  network_.Backward(device_, Stream::kMain, parameters_.data(),
                    rows_.rows(passes_.update_shape(), burn_in.rows() > 0), gradient_.data());
  if (loss_->d_log_deviations() == nullptr) return;
  device_->CopyWithin(Stream::kMain, gradient_.data() + deviation_at_, loss_->d_log_deviations(),
                      static_cast<std::size_t>(loss_->head().free_deviations()) * sizeof(float));
}

void DeviceEngine::Gradient() {
  only_gradient_.Run(device_);
  device_->CopyOut(Stream::kMain, gradient().data(), gradient_.data(), gradient_.bytes());
  DownloadControl();
}

void DeviceEngine::AddNorms(AlgorithmSums* sums) const {
  const int first = loss_->norm_sums();
  if (first < 0) return;
  (*sums)[on_policy_sums::kUpdates] += 1.0;
  (*sums)[first] += Norm(gradient().first(value_at_));
  (*sums)[first + 1] += Norm(gradient().subspan(value_at_));
}

void DeviceEngine::EndBatch(bool counts) {
  if (passes_.measure_passes() > 0 && optimizer_ != nullptr) {
    for (int pass = 0; pass < passes_.measure_passes(); ++pass) measure_.Run(device_);
    optimizer_->EnqueueShorten(device_, Stream::kMain, plan_.control(), parameters_.data());
  }
  if (counts && statistics_->counts())
    statistics_->EnqueueUpdate(device_, Stream::kMain, plan_.plan(),
                               batch_.Column(*training_, training_->observation),
                               batch_.Column(*training_, training_->weight), parameters_.data());
  plan_.Download(device_);
  device_->CopyOut(Stream::kMain, HostBlock(1 - current_).data(), parameters_.data(),
                   parameters_.bytes());
  device_->Record(Stream::kMain, done_);
}

}  // namespace murmurate
