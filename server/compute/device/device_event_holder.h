// DeviceEventHolder: an event that its device gets back.
#pragma once

#include <utility>

#include "server/compute/device/device.h"

namespace murmurate {

class DeviceEventHolder {
 public:
  /// Of no device.
  DeviceEventHolder() = default;
  /// The device must outlive it.
  explicit DeviceEventHolder(Device* device) : device_(device), event_(device->MakeEvent()) {}
  DeviceEventHolder(DeviceEventHolder&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), event_(std::exchange(other.event_, -1)) {}
  DeviceEventHolder& operator=(DeviceEventHolder&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(event_, other.event_);
    return *this;
  }
  ~DeviceEventHolder() {
    if (device_ != nullptr) device_->DropEvent(event_);
  }

  DeviceEvent get() const { return event_; }

 private:
  Device* device_ = nullptr;
  DeviceEvent event_ = -1;
};

}  // namespace murmurate
