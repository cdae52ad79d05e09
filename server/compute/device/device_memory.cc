#include "server/compute/device/device_memory.h"

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kBorder = 256;

std::string Mebibytes(std::size_t bytes) {
  return std::to_string((bytes + (1u << 20) - 1) >> 20) + " MiB";
}

}  // namespace

DeviceMemory::~DeviceMemory() {
  if (base_ != nullptr) device_->Free(base_);
}

std::size_t DeviceMemory::PlanBytes(MemoryPurpose purpose, std::size_t bytes) {
  MURMURATE_CHECK(base_ == nullptr, "memory is planned before it is allocated");
  const std::size_t offset = bytes_, room = (bytes + kBorder - 1) / kBorder * kBorder;
  bytes_ += room;
  by_purpose_[static_cast<std::size_t>(purpose)] += room;
  return offset;
}

Status DeviceMemory::Allocate(Device* device) {
  MURMURATE_CHECK(base_ == nullptr, "memory is allocated once");
  const DeviceDescription description = device->description();
  device_ = device;
  base_ = static_cast<std::byte*>(device->Allocate(bytes_ == 0 ? kBorder : bytes_));
  if (base_ != nullptr) return {};
  return ResourceError(
      description.name + " has " + Mebibytes(description.free_bytes) + " free, and " +
      Mebibytes(bytes()) + " are needed: parameters, gradient and optimizer " +
      Mebibytes(bytes(MemoryPurpose::kParameters)) + ", batches " +
      Mebibytes(bytes(MemoryPurpose::kBatches)) +
      (bytes(MemoryPurpose::kReplay) > 0
           ? ", the replay's observations " + Mebibytes(bytes(MemoryPurpose::kReplay))
           : "") +
      ", a minibatch's activations " + Mebibytes(bytes(MemoryPurpose::kActivations)) +
      ", libraries' workspaces " + Mebibytes(bytes(MemoryPurpose::kLibraries)) + ", else " +
      Mebibytes(bytes(MemoryPurpose::kWorkspace)) +
      (bytes(MemoryPurpose::kReplay) > 0
           ? "; write memory = \"host\" in [replay], lower its capacity, or end what else uses it"
           : "; lower [algorithm] minibatch or batch_steps, end what else uses it, or write device "
             "= \"cpu\""));
}

}  // namespace murmurate
