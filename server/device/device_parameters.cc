#include "server/device/device_parameters.h"

#include <algorithm>

#include "server/compute/vector_math.h"
#include "server/learn/on_policy.h"
#include "shared/core/check.h"

namespace murmurate {

DeviceParameters::DeviceParameters(const ParameterLayout& layout, const AlgorithmSettings& settings,
                                   int norm_sums, StepPlace place, DeviceMemory* memory)
    : value_at_(ValueBegin(layout)),
      trained_{0, layout.trained_count()},
      statistics_(layout.statistics),
      norm_sums_(norm_sums),
      mean_(place == StepPlace::kRanks
                ? std::make_unique<DeviceRankMean>(trained_.count, value_at_, norm_sums, memory)
                : nullptr),
      parameters_(memory->Plan<float>(MemoryPurpose::kParameters, layout.total)),
      gradient_(memory->Plan<float>(MemoryPurpose::kParameters,
                                    trained_.count + (mean_ == nullptr ? 0 : 1))),
      seen_(memory->Plan<float>(MemoryPurpose::kParameters,
                                mean_ == nullptr ? 0 : statistics_.count)),
      optimizer_(place == StepPlace::kElsewhere
                     ? nullptr
                     : std::make_unique<DeviceOptimizer>(layout, settings, norm_sums, memory)) {}

Status DeviceParameters::Start(Device* device, DeviceControl* control) {
  const std::size_t state = optimizer_ == nullptr ? 0 : optimizer_->state_floats();
  host_ = std::make_unique<PinnedBlock>(
      device,
      (2 * parameters_.size() + std::max(gradient_.size(), state) + seen_.size()) * sizeof(float));
  if (host_->data() == nullptr) return NoPinnedMemory();
  device_ = device;
  control_ = control;
  std::ranges::fill(host(), 0.0f);
  EnqueueUp();
  device->ClearMemory(Stream::kMain, gradient_.data(), gradient_.bytes());
  if (optimizer_ == nullptr) return {};
  optimizer_->Upload(device, Stream::kMain);
  Forget();
  return {};
}

std::span<float> DeviceParameters::HostBlock(int block) const {
  float* const first = reinterpret_cast<float*>(host_->data());
  return {first + static_cast<std::size_t>(block) * parameters_.size(), parameters_.size()};
}

std::span<float> DeviceParameters::host_gradient() const {
  return {HostBlock(2).data(), trained_.count};
}

std::span<float> DeviceParameters::host_seen() const {
  float* const end = reinterpret_cast<float*>(host_->data() + host_->size());
  return {end - seen_.size(), seen_.size()};
}

float* DeviceParameters::seen() const {
  return mean_ == nullptr ? parameters_.data() + statistics_.offset : seen_.data();
}

std::span<float> DeviceParameters::HostState() const {
  return {HostBlock(2).data(), optimizer_->state_floats()};
}

void DeviceParameters::EnqueueUp() {
  device_->CopyIn(Stream::kMain, parameters_.data(), host().data(), parameters_.bytes());
}

void DeviceParameters::EnqueueStatisticsUp() {
  if (statistics_.count == 0) return;
  device_->CopyIn(Stream::kMain, parameters_.data() + statistics_.offset,
                  host().data() + statistics_.offset, statistics_.count * sizeof(float));
}

void DeviceParameters::EnqueueSeenUp() {
  device_->CopyIn(Stream::kMain, seen_.data(), host_seen().data(), seen_.bytes());
}

void DeviceParameters::EnqueueDown() {
  device_->CopyOut(Stream::kMain, HostBlock(1 - current_).data(), parameters_.data(),
                   parameters_.bytes());
  if (seen_.size() > 0)
    device_->CopyOut(Stream::kMain, host_seen().data(), seen_.data(), seen_.bytes());
}

void DeviceParameters::EnqueueGradientDown() {
  device_->CopyOut(Stream::kMain, host_gradient().data(), gradient_.data(),
                   host_gradient().size_bytes());
}

void DeviceParameters::EnqueueStep() {
  if (mean_ != nullptr) return EnqueueMeanStep(false);
  optimizer_->EnqueueStep(device_, Stream::kMain, control_->control(), gradient_.data(),
                          parameters_.data());
}

void DeviceParameters::EnqueueJoin() { EnqueueMeanStep(true); }

void DeviceParameters::EnqueueMeanStep(bool joins) {
  mean_->Enqueue(device_, Stream::kMain, control_->control(), gradient_.data(), joins);
  optimizer_->EnqueueStep(device_, Stream::kMain, control_->control(), gradient_.data(),
                          parameters_.data(), mean_->joined(gradient_.data()));
}

void DeviceParameters::AddNorms(AlgorithmSums* sums) const {
  if (norm_sums_ < 0) return;
  (*sums)[norm_sums_] += Norm(host_gradient().first(value_at_));
  (*sums)[norm_sums_ + 1] += Norm(host_gradient().subspan(value_at_));
}

void DeviceParameters::Forget() {
  optimizer_->EnqueueForget(device_, Stream::kMain, control_->control());
  control_->Download();
}

void DeviceParameters::Save(const StateWriter& writer) {
  optimizer_->EnqueueSave(device_, Stream::kMain, HostState().data());
  control_->Download();
  if (!device_->error().empty()) return SaveFirst(writer);  // it has failed meanwhile
  optimizer_->Save(writer, HostState(), control_->host().optimizer_steps);
}

void DeviceParameters::SaveFirst(const StateWriter& writer) const {
  std::ranges::fill(HostState(), optimizer_->first_value());
  optimizer_->Save(writer, HostState(), 0);
}

Status DeviceParameters::Load(const StateReader& reader) {
  std::uint64_t steps = 0;
  MURMURATE_RETURN_IF_ERROR(optimizer_->Load(reader, HostState(), &steps));
  control_->host().optimizer_steps = steps;
  control_->EnqueueControlUp();
  optimizer_->EnqueueLoad(device_, Stream::kMain, HostState().data());
  control_->Download();
  return {};
}

}  // namespace murmurate
