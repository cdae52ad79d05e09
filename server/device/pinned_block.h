// PinnedBlock: host memory that a device copies to and from beside the processor's work.
#pragma once

#include <cstddef>

#include "server/compute/device/device.h"

namespace murmurate {

class PinnedBlock {
 public:
  /// The device must outlive it.
  PinnedBlock(Device* device, std::size_t bytes)
      : device_(device), bytes_(device->AllocatePinned(bytes)), size_(bytes) {}
  ~PinnedBlock() {
    if (bytes_ != nullptr) device_->FreePinned(bytes_);
  }
  PinnedBlock(const PinnedBlock&) = delete;
  PinnedBlock& operator=(const PinnedBlock&) = delete;

  std::byte* data() const { return bytes_; }  ///< null: the host has none left
  std::size_t size() const { return size_; }

 private:
  Device* const device_;
  std::byte* const bytes_;
  const std::size_t size_;
};

}  // namespace murmurate
