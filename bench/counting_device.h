// CountingDevice: another device, and how many kernels, copies and calls of libraries were recorded
// into its last graph.
#pragma once

#include "tests/device/forwarding_device.h"

namespace murmurate {

class CountingDevice : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  int nodes() const { return nodes_; }

  void BeginGraph(Stream stream) override {
    nodes_ = 0;
    recording_ = true;
    ForwardingDevice::BeginGraph(stream);
  }
  DeviceGraph EndGraph(Stream stream) override {
    recording_ = false;
    return ForwardingDevice::EndGraph(stream);
  }

 protected:
  bool Passes() override {
    nodes_ += recording_;
    return true;
  }

 private:
  int nodes_ = 0;
  bool recording_ = false;
};

}  // namespace murmurate
