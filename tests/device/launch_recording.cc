#include "tests/device/launch_recording.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <span>
#include <tuple>

#include "shared/core/check.h"
#include "tests/device/host_kernels.h"
#include "tests/device/host_memory.h"

namespace murmurate {
namespace {

template <typename T>
void Put(std::ostream* file, const T& value) {
  file->write(reinterpret_cast<const char*>(&value), sizeof value);
}
void PutBytes(std::ostream* file, std::span<const std::byte> bytes) {
  file->write(reinterpret_cast<const char*>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
}

template <typename T>
T Get(std::istream* file) {
  T value{};
  file->read(reinterpret_cast<char*>(&value), sizeof value);
  return value;
}
std::vector<std::byte> GetBytes(std::istream* file, std::uint64_t count) {
  std::vector<std::byte> bytes(count);
  file->read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
  return bytes;
}

}  // namespace

void LaunchRecording::Write(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  Put(&file, kernel);
  Put(&file, grid);
  Put<std::uint64_t>(&file, call.size());
  PutBytes(&file, call);
  Put<std::uint64_t>(&file, blocks.size());
  for (const Block& block : blocks) {
    Put(&file, block.address);
    Put<std::uint64_t>(&file, block.before.size());
    PutBytes(&file, block.before);
  }
  MURMURATE_CHECK(file.good(), "a launch can be recorded");
}

LaunchRecording LaunchRecording::Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  LaunchRecording recording;
  recording.kernel = Get<KernelId>(&file);
  recording.grid = Get<Grid>(&file);
  recording.call = GetBytes(&file, Get<std::uint64_t>(&file));
  recording.blocks.resize(Get<std::uint64_t>(&file));
  for (Block& block : recording.blocks) {
    block.address = Get<std::uint64_t>(&file);
    block.before = GetBytes(&file, Get<std::uint64_t>(&file));
  }
  MURMURATE_CHECK(file.good(), "a recorded launch can be read");
  return recording;
}

std::unique_ptr<LaunchRecorder> LaunchRecorder::OfEnvironment() {
  const char* const folder = std::getenv("MURMURATE_RECORD_LAUNCHES");
  return folder == nullptr ? nullptr : std::make_unique<LaunchRecorder>(folder);
}

bool LaunchRecorder::Wants(KernelId id, const Grid& grid, const HostMemory& memory) {
  constexpr std::uint64_t kMostThreads = 1024;
  constexpr std::size_t kMostBytes = 4 << 20;
  constexpr int kOfAGrid = 1, kOfAKernel = 4;
  static std::map<KernelId, int> of_kernel;
  static std::map<std::tuple<KernelId, std::uint32_t, std::uint32_t, std::uint32_t>, int> of_grid;
  std::size_t bytes = 0;
  for (const auto& block : memory.Blocks()) bytes += block.size();
  if (std::uint64_t{grid.blocks} * grid.rows * grid.threads > kMostThreads || bytes > kMostBytes)
    return false;
  int& grids = of_grid[{id, grid.blocks, grid.rows, grid.threads}];
  if (grids >= kOfAGrid || of_kernel[id] >= kOfAKernel) return false;
  ++grids;
  ++of_kernel[id];
  return true;
}

void LaunchRecorder::Run(KernelRunner* runner, KernelId id, const Grid& grid, const void* call,
                         const HostMemory& memory) {
  const HostKernel& kernel = HostKernelOf(id);
  if (!Wants(id, grid, memory)) return runner->Run(kernel, grid, call);
  LaunchRecording recording;
  recording.kernel = id;
  recording.grid = grid;
  const auto* const call_bytes = static_cast<const std::byte*>(call);
  recording.call.assign(call_bytes, call_bytes + kernel.call_bytes);
  for (const auto& block : memory.Blocks())
    recording.blocks.push_back({reinterpret_cast<std::uintptr_t>(block.data()),
                                std::vector<std::byte>(block.begin(), block.end())});
  static int recorded = 0;
  recording.Write(folder_ + "/" + std::to_string(getpid()) + "-" + std::to_string(++recorded));
  runner->Run(kernel, grid, call);
}

}  // namespace murmurate
