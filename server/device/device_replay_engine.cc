#include "server/device/device_replay_engine.h"

#include <algorithm>

#include "server/device/device_single_network.h"
#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

/// The last network that is trained reads all that any reads.
NetworkPlan LastPlanOf(const ModelSpec& spec) {
  std::string_view last = kPolicyNetwork;
  for (const NetworkSpec& network : spec.networks)
    if (network.trained) last = network.name;
  return PlanOfSingleNetwork(spec, last);
}

}  // namespace

DeviceReplayEngine::DeviceReplayEngine(const ModelSpec& spec, const AlgorithmSettings& settings,
                                       const DeviceArithmetic& arithmetic)
    : layout_(spec),
      noise_(NoiseOfReplayLoss(spec, settings)),
      control_(&memory_),
      passes_(spec, settings, noise_, &memory_),
      inputs_(spec, layout_, PlanOfSingleNetwork(spec, kPolicyNetwork), LastPlanOf(spec),
              2 * passes_.rows(), arithmetic.pictures, &memory_),
      loss_(MakeDeviceReplayLoss(
          {spec, settings, layout_, passes_, inputs_, arithmetic.precision, &memory_})),
      parameters_(layout_, settings, -1, StepPlace::kHere, &memory_),
      targets_(spec, layout_, &memory_),
      errors_(memory_.Plan<float>(MemoryPurpose::kBatches,
                                  static_cast<std::size_t>(passes_.most() * passes_.rows()))),
      update_([this] { EnqueueUpdate(); }),
      look_([this] {
        Gather();
        loss_->EnqueueErrors(step());
      }) {}

DeviceReplayEngine::~DeviceReplayEngine() {
  if (device_ == nullptr) return;
  control_.Download();  // nothing reads memory of the host any more
  update_.Drop(device_);
  look_.Drop(device_);
}

Status DeviceReplayEngine::Start(Device* device) {
  MURMURATE_RETURN_IF_ERROR(memory_.Allocate(device));
  MURMURATE_RETURN_IF_ERROR(control_.Start(device));
  device_ = device;
  MURMURATE_RETURN_IF_ERROR(parameters_.Start(device, &control_));
  MURMURATE_RETURN_IF_ERROR(passes_.Start(device));
  host_errors_ = std::make_unique<PinnedBlock>(device, errors_.bytes());
  if (host_errors_->data() == nullptr) return NoPinnedMemory();
  inputs_.Upload(device);
  MURMURATE_RETURN_IF_ERROR(loss_->Start(device));
  targets_.Upload(device);
  control_.Download();
  return device->error().empty() ? Status() : ResourceError(device->error());
}

void DeviceReplayEngine::Lay(int pass, const TrainingBatch& batch,
                             std::span<const std::int32_t> rows, float target_part, bool update,
                             Random* random) {
  passes_.Lay(pass, batch, rows, target_part);
  const auto draw = [&](int first) {
    float* const to = passes_.noise(pass) + static_cast<std::size_t>(first) * noise_;
    for (std::size_t i = 0; i < rows.size() * static_cast<std::size_t>(noise_); ++i)
      to[i] = static_cast<float>(random->Normal());
  };
  draw(passes_.rows());
  if (update) draw(0);
}

void DeviceReplayEngine::BeginBatch(double learning_rate) {
  TrainingControl begun = {};
  begun.learning_rate = static_cast<float>(learning_rate);
  begun.optimizer_steps = control_.host().optimizer_steps;
  control_.host() = begun;
}

void DeviceReplayEngine::Run(int passes, bool updates, bool last) {
  control_.host().pass = 0;
  control_.EnqueueControlUp();
  passes_.EnqueueUp(passes);
  for (int pass = 0; pass < passes; ++pass) (updates ? update_ : look_).Run(device_);
  device_->CopyOut(Stream::kMain, host_errors_->data(), errors_.data(),
                   static_cast<std::size_t>(passes * passes_.rows()) * sizeof(float));
  if (updates && last) {
    parameters_.EnqueueDown();
    loss_->EnqueueDown(device_);
  }
  control_.EnqueueDown();
}

void DeviceReplayEngine::Adopt() {
  parameters_.Adopt();
  loss_->Adopt();
}

void DeviceReplayEngine::Save(const StateWriter& optimizer, const StateWriter& algorithm) {
  parameters_.Save(optimizer);
  loss_->Save(algorithm);
}

Status DeviceReplayEngine::Load(const StateReader& optimizer, const StateReader& algorithm) {
  MURMURATE_RETURN_IF_ERROR(parameters_.Load(optimizer));
  MURMURATE_RETURN_IF_ERROR(loss_->Load(device_, algorithm));
  control_.Download();
  return {};
}

std::span<const float> DeviceReplayEngine::errors(int pass) const {
  const auto rows = static_cast<std::size_t>(passes_.rows());
  return {
      reinterpret_cast<const float*>(host_errors_->data()) + static_cast<std::size_t>(pass) * rows,
      rows};
}

DeviceReplayStep DeviceReplayEngine::step() const {
  return {device_, control_.control(), parameters_.parameters(), errors_.data()};
}

void DeviceReplayEngine::Gather() const {
  inputs_.Gather(device_, {.control = control_.control(),
                           .lists = passes_.lists().rows,
                           .batch = passes_.observations(),
                           .parameters = parameters_.parameters(),
                           .rows = 2 * passes_.rows()});
}

void DeviceReplayEngine::EnqueueUpdate() {
  Gather();
  loss_->EnqueueGradient(step(), parameters_.gradient());
  parameters_.EnqueueStep();
  targets_.EnqueueMove(device_, control_.control(), passes_.lists(), parameters_.parameters());
}

}  // namespace murmurate
