// The device that tests run on: the host device, or, where MURMURATE_TEST_DEVICE names one ("cuda:0"),
// a GPU: scripts/gpu-campaign.sh runs them so.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>

#include "server/compute/device/device_event_holder.h"
#include "server/device/open_device.h"
#include "shared/core/check.h"
#include "tests/device/forwarding_device.h"
#include "tests/device/host_device.h"

namespace murmurate {

/// Empty: none.
inline std::string NameOfTestGpu() {
  const char* const name = std::getenv("MURMURATE_TEST_DEVICE");
  return name == nullptr ? "" : name;
}

/// The GPU for all tests of that precision, which stays open: after it has failed, all that follow
/// fail.
template <DevicePrecision kPrecision>
std::shared_ptr<Device> TestGpu() {
  static const std::shared_ptr<Device>& gpu = *new std::shared_ptr<Device>([] {
    auto opened = OpenDevice(NameOfTestGpu(), kPrecision);
    MURMURATE_CHECK(opened.ok(), opened.status().message().c_str());
    return *std::move(opened);
  }());
  return gpu;
}

/// A host device of its own, or the GPU, which keeps pictures as the options say.
inline std::shared_ptr<Device> MakeTestDevice(HostDeviceOptions options = {}) {
  if (NameOfTestGpu().empty()) return std::make_shared<HostDevice>(std::move(options));
  return options.pictures == ElementType::kBf16 ? TestGpu<DevicePrecision::kBf16>()
                                                : TestGpu<DevicePrecision::kFp32>();
}

/// What computed with memory that was not written (HostDevice::unwritten). Of a GPU nothing is known:
/// compute-sanitizer says that.
inline std::set<std::string> UnwrittenOn(const Device& device) {
  const auto* const host = dynamic_cast<const HostDevice*>(&device);
  return host == nullptr ? std::set<std::string>() : host->unwritten();
}

/// The same, and a way to wait for all of its work.
class TestDevice : public ForwardingDevice {
 public:
  explicit TestDevice(HostDeviceOptions options = {})
      : TestDevice(MakeTestDevice(std::move(options))) {}

  void Finish() {
    for (int stream = 0; stream < kStreams; ++stream) {
      Record(static_cast<Stream>(stream), done_.get());
      Await(done_.get());
    }
  }
  /// Kernels, calls of libraries and what else may be part of a graph, so far.
  std::uint64_t calls() const { return calls_; }
  std::set<std::string> unwritten() const { return UnwrittenOn(*device_); }

 protected:
  bool Passes() override {
    ++calls_;
    return true;
  }

 private:
  explicit TestDevice(std::shared_ptr<Device> device)
      : ForwardingDevice(device.get()), device_(std::move(device)), done_(device_.get()) {}

  const std::shared_ptr<Device> device_;
  const DeviceEventHolder done_;
  std::uint64_t calls_ = 0;
};

}  // namespace murmurate
