// DeviceNumbers: floats in memory of a HostDevice.
#pragma once

#include <vector>

#include "tests/device/host_device.h"

namespace murmurate {

class DeviceNumbers {
 public:
  struct Count {
    std::size_t value;
  };
  /// Not numbers yet.
  DeviceNumbers(HostDevice* device, Count count)
      : device_(device),
        count_(count.value),
        data_(static_cast<float*>(device->Allocate(bytes()))) {}
  DeviceNumbers(HostDevice* device, const std::vector<float>& values)
      : DeviceNumbers(device, Count{values.size()}) {
    device->CopyIn(Stream::kMain, data_, values.data(), bytes());
    device->Finish();
  }
  ~DeviceNumbers() { device_->Free(data_); }
  DeviceNumbers(const DeviceNumbers&) = delete;
  DeviceNumbers& operator=(const DeviceNumbers&) = delete;

  float* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(float); }
  /// After all that was enqueued.
  std::vector<float> Read() const {
    std::vector<float> values(count_);
    device_->Finish();
    device_->CopyOut(Stream::kMain, values.data(), data_, bytes());
    device_->Finish();
    return values;
  }

 private:
  HostDevice* const device_;
  const std::size_t count_;
  float* const data_;
};

}  // namespace murmurate
