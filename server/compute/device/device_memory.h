// DeviceMemory: one block of a device's memory, planned piece by piece before any of it is allocated,
// so that what a learner needs is known, and said, where there is no device.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/compute/device/device.h"

namespace murmurate {

/// What a piece of memory is for, as `murmurate check` and a failed allocation say it.
enum class MemoryPurpose : std::uint8_t {
  kParameters,   ///< parameters, gradient, optimizer
  kBatches,      ///< columns of batches and their plans
  kReplay,       ///< a copy of a replay's observations
  kActivations,  ///< what layers give, and their gradients, for one minibatch
  kLibraries,    ///< what libraries of products and convolutions take for themselves
  kWorkspace,    ///< all else
};
inline constexpr int kMemoryPurposes = 6;

class DeviceMemory;

/// A piece that was planned.
template <typename T>
class DeviceArray {
 public:
  DeviceArray() = default;
  DeviceArray(const DeviceMemory* memory, std::size_t offset, std::size_t count)
      : memory_(memory), offset_(offset), count_(count) {}
  /// On the device; its memory must have been allocated.
  T* data() const;
  std::size_t size() const { return count_; }
  /// What lies from element `first` on.
  DeviceArray From(std::size_t first) const {
    return {memory_, offset_ + first * sizeof(T), count_ - first};
  }
  std::size_t bytes() const { return count_ * sizeof(T); }

 private:
  const DeviceMemory* memory_ = nullptr;
  std::size_t offset_ = 0, count_ = 0;
};

class DeviceMemory {
 public:
  DeviceMemory() = default;
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  /// Plans room for `count`, which begins on a border of 256 bytes; before Allocate.
  template <typename T>
  DeviceArray<T> Plan(MemoryPurpose purpose, std::size_t count) {
    return {this, PlanBytes(purpose, count * sizeof(T)), count};
  }

  /// Memory of this device will be multiplied (convolved) on one stream: what the library takes for
  /// that counts as kLibraries, once. It is not allocated here.
  void WantProducts() { products_ = kProductWorkspaceBytes; }
  void WantConvolutions() { convolutions_ = kConvolutionWorkspaceBytes; }

  /// All that was planned, and what libraries take beside it.
  std::size_t bytes() const { return bytes_ + products_ + convolutions_; }
  std::size_t bytes(MemoryPurpose purpose) const {
    return purpose == MemoryPurpose::kLibraries ? products_ + convolutions_
                                                : by_purpose_[static_cast<std::size_t>(purpose)];
  }

  /// Allocates all that was planned. The status names each purpose with its bytes, what is free,
  /// and what to lower.
  Status Allocate(Device* device);
  std::byte* base() const { return base_; }

 private:
  std::size_t PlanBytes(MemoryPurpose purpose, std::size_t bytes);

  Device* device_ = nullptr;
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0, products_ = 0, convolutions_ = 0;
  std::array<std::size_t, kMemoryPurposes> by_purpose_{};
};

template <typename T>
T* DeviceArray<T>::data() const {
  return count_ == 0 ? nullptr : reinterpret_cast<T*>(memory_->base() + offset_);
}

}  // namespace murmurate
