// LaunchRecording: one launch of a kernel with the device's memory before it, in a file,
// so that another program can run the kernel again, at the same addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "server/compute/device/device.h"
#include "tests/device/kernel_block.h"

namespace murmurate {

class HostMemory;

struct LaunchRecording {
  struct Block {
    std::uint64_t address = 0;
    std::vector<std::byte> before;
  };
  KernelId kernel{};
  Grid grid;
  std::vector<std::byte> call;
  std::vector<Block> blocks;

  void Write(const std::string& path) const;
  static LaunchRecording Read(const std::string& path);
};

/// Records the first launches of each kernel on each grid of moderate size.
class LaunchRecorder {
 public:
  /// Into the folder that the environment's MURMURATE_RECORD_LAUNCHES names; null: it names none.
  static std::unique_ptr<LaunchRecorder> OfEnvironment();
  explicit LaunchRecorder(std::string folder) : folder_(std::move(folder)) {}

  /// Runs it, and records it where it is wanted.
  void Run(KernelRunner* runner, KernelId id, const Grid& grid, const void* call,
           const HostMemory& memory);

 private:
  bool Wants(KernelId id, const Grid& grid, const HostMemory& memory);

  const std::string folder_;
};

}  // namespace murmurate
