// The device that tests run on: the host device, or, where MURMURATE_TEST_DEVICE names one ("cuda:0"),
// a GPU: scripts/gpu-campaign.sh runs them so.
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "server/device/open_device.h"
#include "shared/core/check.h"
#include "tests/device/host_device.h"

namespace murmurate {

/// Empty: none.
inline std::string NameOfTestGpu() {
  const char* const name = std::getenv("MURMURATE_TEST_DEVICE");
  return name == nullptr ? "" : name;
}

/// A host device of its own; of a GPU one for all tests, which stays open: after it has failed, all
/// that follow fail.
inline std::shared_ptr<Device> MakeTestDevice() {
  const std::string name = NameOfTestGpu();
  if (name.empty()) return std::make_shared<HostDevice>();
  static const std::shared_ptr<Device>& gpu = *new std::shared_ptr<Device>([&] {
    auto opened = OpenDevice(name);
    MURMURATE_CHECK(opened.ok(), opened.status().message().c_str());
    return *std::move(opened);
  }());
  return gpu;
}

}  // namespace murmurate
