#include "server/device/device_control.h"

namespace murmurate {

Status NoPinnedMemory() {
  return ResourceError(
      "no memory is left that a device can copy from: raise the limit on locked "
      "memory (ulimit -l), or write device = \"cpu\"");
}

DeviceControl::DeviceControl(DeviceMemory* memory)
    : control_(memory->Plan<TrainingControl>(MemoryPurpose::kWorkspace, 1)) {}

Status DeviceControl::Start(Device* device) {
  pinned_ = std::make_unique<PinnedBlock>(device, sizeof(TrainingControl));
  if (pinned_->data() == nullptr) return NoPinnedMemory();
  device_ = device;
  done_ = DeviceEventHolder(device);
  host() = {};
  EnqueueControlUp();
  return {};
}

void DeviceControl::EnqueueControlUp() const {
  device_->CopyIn(Stream::kMain, control_.data(), pinned_->data(), sizeof(TrainingControl));
}

void DeviceControl::EnqueueRateUp(double rate) {
  host().learning_rate = static_cast<float>(rate);
  device_->CopyIn(Stream::kMain, &control_.data()->learning_rate, &host().learning_rate,
                  sizeof host().learning_rate);
}

void DeviceControl::EnqueueDown() const {
  device_->CopyOut(Stream::kMain, pinned_->data(), control_.data(), sizeof(TrainingControl));
  device_->Record(Stream::kMain, done_.get());
}

}  // namespace murmurate
