// HeldMemory: nearly all of a device's memory, so that others find it full.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "server/compute/device/device.h"

namespace murmurate {

class HeldMemory {
 public:
  /// Leaves about `left` bytes. The device must outlive it.
  HeldMemory(Device* device, std::size_t left) : device_(device) {
    constexpr std::size_t kLeast = std::size_t{2} << 20;  // a page of a GPU
    std::size_t free = device->description().free_bytes, block = free;
    while (free > left + kLeast && block >= kLeast) {
      block = std::min(block, free - left);
      if (void* const held = device->Allocate(block); held != nullptr) {
        blocks_.push_back(held);
        bytes_ += block;
        free = device->description().free_bytes;
      } else {
        block /= 2;
      }
    }
  }
  ~HeldMemory() {
    for (void* block : blocks_) device_->Free(block);
  }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  std::size_t bytes() const { return bytes_; }

 private:
  Device* const device_;
  std::vector<void*> blocks_;
  std::size_t bytes_ = 0;
};

}  // namespace murmurate
