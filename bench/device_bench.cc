#include "bench/device_bench.h"

#include <algorithm>
#include <cstdio>

#include "server/compute/device/calls/layers.h"
#include "server/device/algorithm_book.h"
#include "server/device/open_device.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "tests/device/host_device.h"

namespace murmurate {

Result<DeviceBenchOptions> ParseDeviceBench(int argc, char** argv) {
  DeviceBenchOptions options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--small") {
      options.small = true;
    } else if (word == "--device") {
      if (i + 1 == argc) return InvalidArgument("--device: expected \"host\" or \"cuda:N\"");
      options.device = argv[++i];
    } else if (word.starts_with("--")) {
      return InvalidArgument(word + ": expected --device NAME or --small");
    } else {
      options.words.push_back(word);
    }
  }
  return options;
}

Result<std::unique_ptr<Device>> OpenBenchDevice(const std::string& name,
                                                DevicePrecision precision) {
  if (name == "host") return std::unique_ptr<Device>(std::make_unique<HostDevice>());
  return OpenDevice(name, precision, true, std::make_shared<AlgorithmBook>());
}

const char* NameOf(DevicePrecision precision) {
  switch (precision) {
    case DevicePrecision::kFp32:
      return "fp32";
    case DevicePrecision::kTf32:
      return "tf32";
    case DevicePrecision::kBf16:
      return "bf16";
  }
  MURMURATE_CHECK(false, "a precision has one of these names");
}

DeviceSeconds SecondsOf(std::vector<double> rounds, int calls) {
  MURMURATE_CHECK(!rounds.empty() && calls > 0, "something was timed");
  for (double& seconds : rounds) seconds /= calls;
  std::ranges::sort(rounds);
  return {
      .median = rounds[rounds.size() / 2], .shortest = rounds.front(), .longest = rounds.back()};
}

DeviceSeconds TimeOnDevice(Device* device, int rounds, int calls,
                           const std::function<void()>& enqueue) {
  const DeviceIdle idle(device);
  std::vector<double> seconds;
  for (int round = -1; round < rounds; ++round) {
    idle.Wait();
    const std::int64_t start_ns = MonotonicNs();
    for (int call = 0; call < calls; ++call) enqueue();
    idle.Wait();
    if (round >= 0) seconds.push_back(static_cast<double>(MonotonicNs() - start_ns) * 1e-9);
  }
  return SecondsOf(std::move(seconds), calls);
}

DeviceSeconds TimeEmptyGraph(Device* device, int nodes, int rounds) {
  const ActivateCall nothing{.x = nullptr, .y = nullptr, .count = 0, .activation = {}};
  const Grid grid{.threads = 32};
  device->Launch(Stream::kMain, grid, nothing);
  device->BeginGraph(Stream::kMain);
  for (int node = 0; node < nodes; ++node) device->Launch(Stream::kMain, grid, nothing);
  const DeviceGraph graph = device->EndGraph(Stream::kMain);
  if (graph < 0) return {};
  const DeviceSeconds seconds =
      TimeOnDevice(device, rounds, 32, [&] { device->Replay(Stream::kMain, graph); });
  device->DropGraph(graph);
  return seconds;
}

void PrintLine(const nlohmann::json& line) {
  std::printf("%s\n", line.dump().c_str());
  std::fflush(stdout);
}

int Fail(const Status& status) {
  std::fprintf(stderr, "murmurate: %s\n", status.message().c_str());
  return static_cast<int>(status.code());
}

}  // namespace murmurate
