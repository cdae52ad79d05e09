// StillDevice: a device that computes nothing: what holds memory, and who lives how long.
#pragma once

#include <atomic>
#include <new>

#include "server/compute/device/device.h"

namespace murmurate {

class StillDevice : public Device {
 public:
  /// Counts itself and its pinned blocks here, for as long as they live; may be null.
  struct Counts {
    std::atomic<int> devices{0}, blocks{0};
    std::atomic<bool> freed_late{false};  ///< a block outlived its device
    int most_blocks = 1 << 20;
  };
  explicit StillDevice(Counts* counts) : counts_(counts) { ++counts_->devices; }
  ~StillDevice() override {
    if (counts_->blocks > 0) counts_->freed_late = true;
    --counts_->devices;
  }

  DeviceDescription description() override {
    DeviceDescription description;
    description.name = "still";
    description.multiprocessors = 4;
    return description;
  }
  std::string error() const override { return ""; }
  void* Allocate(std::size_t bytes) override { return AllocatePinned(bytes); }
  void Free(void* memory) override { FreePinned(static_cast<std::byte*>(memory)); }
  std::byte* AllocatePinned(std::size_t bytes) override {
    if (counts_->blocks >= counts_->most_blocks) return nullptr;
    ++counts_->blocks;
    return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{256}));
  }
  void FreePinned(std::byte* memory) override {
    --counts_->blocks;
    ::operator delete (memory, std::align_val_t{256});
  }

  void CopyIn(Stream, void*, const void*, std::size_t) override {}
  void CopyOut(Stream, void*, const void*, std::size_t) override {}
  void CopyWithin(Stream, void*, const void*, std::size_t) override {}
  void ClearMemory(Stream, void*, std::size_t) override {}
  void Multiply(Stream, const ProductCall&) override {}
  void Convolve(Stream, const ConvolutionCall&) override {}
  DeviceEvent MakeEvent() override { return 0; }
  void DropEvent(DeviceEvent) override {}
  void Record(Stream, DeviceEvent) override {}
  void WaitFor(Stream, DeviceEvent) override {}
  bool Reached(DeviceEvent) override { return true; }
  void Await(DeviceEvent) override {}
  void BeginGraph(Stream) override {}
  DeviceGraph EndGraph(Stream) override { return 0; }
  void Replay(Stream, DeviceGraph) override {}
  void DropGraph(DeviceGraph) override {}

 protected:
  void LaunchKernel(Stream, KernelId, const Grid&, const void*, std::size_t) override {}

 private:
  Counts* const counts_;
};

}  // namespace murmurate
