// ForwardingDevice: another device, for what watches or changes some of the calls to it.
#pragma once

#include <string>

#include "server/compute/device/device.h"

namespace murmurate {

class ForwardingDevice : public Device {
 public:
  /// The device must outlive it.
  explicit ForwardingDevice(Device* device) : device_(device) {}

  DeviceDescription description() override { return device_->description(); }
  std::string error() const override { return device_->error(); }
  RankSums* rank_sums() override { return device_->rank_sums(); }
  void* Allocate(std::size_t bytes) override { return device_->Allocate(bytes); }
  void Free(void* memory) override { device_->Free(memory); }
  std::byte* AllocatePinned(std::size_t bytes) override { return device_->AllocatePinned(bytes); }
  void FreePinned(std::byte* memory) override { device_->FreePinned(memory); }
  void CopyIn(Stream stream, void* to, const void* host, std::size_t bytes) override {
    device_->CopyIn(stream, to, host, bytes);
  }
  void CopyOut(Stream stream, void* host, const void* from, std::size_t bytes) override {
    device_->CopyOut(stream, host, from, bytes);
  }
  void CopyWithin(Stream stream, void* to, const void* from, std::size_t bytes) override {
    if (Passes()) device_->CopyWithin(stream, to, from, bytes);
  }
  void ClearMemory(Stream stream, void* memory, std::size_t bytes) override {
    if (Passes()) device_->ClearMemory(stream, memory, bytes);
  }
  void Multiply(Stream stream, const ProductCall& call) override {
    if (Passes()) device_->Multiply(stream, call);
  }
  void Convolve(Stream stream, const ConvolutionCall& call) override {
    if (Passes()) device_->Convolve(stream, call);
  }
  DeviceEvent MakeEvent() override { return device_->MakeEvent(); }
  void DropEvent(DeviceEvent event) override { device_->DropEvent(event); }
  void Record(Stream stream, DeviceEvent event) override { device_->Record(stream, event); }
  void WaitFor(Stream stream, DeviceEvent event) override { device_->WaitFor(stream, event); }
  bool Reached(DeviceEvent event) override { return device_->Reached(event); }
  void Await(DeviceEvent event) override { device_->Await(event); }
  void BeginGraph(Stream stream) override { device_->BeginGraph(stream); }
  DeviceGraph EndGraph(Stream stream) override { return device_->EndGraph(stream); }
  void Replay(Stream stream, DeviceGraph graph) override { device_->Replay(stream, graph); }
  void DropGraph(DeviceGraph graph) override { device_->DropGraph(graph); }

 protected:
  /// Asked before work that may be part of a graph goes on; false: it does not.
  virtual bool Passes() { return true; }

  void LaunchKernel(Stream stream, KernelId kernel, const Grid& grid, const void* call,
                    std::size_t bytes) override {
    if (Passes()) (device_->*&Opened::LaunchKernel)(stream, kernel, grid, call, bytes);
  }

 private:
  struct Opened : Device {
    using Device::LaunchKernel;
  };

  Device* const device_;
};

}  // namespace murmurate
