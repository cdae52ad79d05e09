// CountingDevice: another device, and how many kernels, copies and calls of libraries were recorded
// into its last graph.
#pragma once

#include <string>

#include "server/compute/device/device.h"

namespace murmurate {

class CountingDevice : public Device {
 public:
  /// The device must outlive it.
  explicit CountingDevice(Device* device) : device_(device) {}

  int nodes() const { return nodes_; }

  DeviceDescription description() override { return device_->description(); }
  std::string error() const override { return device_->error(); }
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
    nodes_ += recording_;
    device_->CopyWithin(stream, to, from, bytes);
  }
  void ClearMemory(Stream stream, void* memory, std::size_t bytes) override {
    nodes_ += recording_;
    device_->ClearMemory(stream, memory, bytes);
  }
  void Multiply(Stream stream, const ProductCall& call) override {
    nodes_ += recording_;
    device_->Multiply(stream, call);
  }
  void Convolve(Stream stream, const ConvolutionCall& call) override {
    nodes_ += recording_;
    device_->Convolve(stream, call);
  }
  DeviceEvent MakeEvent() override { return device_->MakeEvent(); }
  void Record(Stream stream, DeviceEvent event) override { device_->Record(stream, event); }
  void WaitFor(Stream stream, DeviceEvent event) override { device_->WaitFor(stream, event); }
  bool Reached(DeviceEvent event) override { return device_->Reached(event); }
  void Await(DeviceEvent event) override { device_->Await(event); }
  void BeginGraph(Stream stream) override {
    nodes_ = 0;
    recording_ = true;
    device_->BeginGraph(stream);
  }
  DeviceGraph EndGraph(Stream stream) override {
    recording_ = false;
    return device_->EndGraph(stream);
  }
  void Replay(Stream stream, DeviceGraph graph) override { device_->Replay(stream, graph); }
  void DropGraph(DeviceGraph graph) override { device_->DropGraph(graph); }

 protected:
  void LaunchKernel(Stream stream, KernelId kernel, const Grid& grid, const void* call,
                    std::size_t bytes) override {
    nodes_ += recording_;
    (device_->*&Opened::LaunchKernel)(stream, kernel, grid, call, bytes);
  }

 private:
  struct Opened : Device {
    using Device::LaunchKernel;
  };

  Device* const device_;
  int nodes_ = 0;
  bool recording_ = false;
};

}  // namespace murmurate
