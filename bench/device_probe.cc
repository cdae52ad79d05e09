// What a GPU can do at best, which the steps of bench_device_step are compared with: copies between
// host and device and within the device, graphs of kernels that have nothing to do, products of
// matrices.
//
//   bench_device_probe [--device cuda:0|host] [--small]
//   bench_device_probe hold MIB    holds all of the device's memory but so much until stdin ends
//
// Each result is a line of JSON. Without the device: one sentence, exit code 5.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/device_bench.h"
#include "server/compute/device/device_memory.h"
#include "shared/core/check.h"
#include "tests/device/held_memory.h"

namespace murmurate {
namespace {

constexpr int kRounds = 10;

void Describe(Device* device) {
  const DeviceDescription found = device->description();
  PrintLine({{"probe", "device"},
             {"name", found.name},
             {"driver", found.driver},
             {"libraries", found.libraries},
             {"multiprocessors", found.multiprocessors},
             {"memory_bytes", found.memory_bytes},
             {"free_bytes", found.free_bytes}});
}

void PrintCopy(const char* which, double bytes, const DeviceSeconds& seconds) {
  PrintLine(
      {{"probe", which}, {"gb_s", bytes / seconds.median * 1e-9}, {"us", seconds.median * 1e6}});
}

Status MeasureCopies(Device* device, bool small) {
  const std::size_t bytes = small ? 1u << 16 : 1u << 30;
  DeviceMemory memory;
  const auto from = memory.Plan<std::byte>(MemoryPurpose::kWorkspace, bytes);
  const auto to = memory.Plan<std::byte>(MemoryPurpose::kWorkspace, bytes);
  MURMURATE_RETURN_IF_ERROR(memory.Allocate(device));
  const std::size_t pinned_bytes = bytes / 4;
  std::byte* const pinned = device->AllocatePinned(pinned_bytes);
  if (pinned == nullptr) return ResourceError("no pinned memory is left");
  std::fill_n(pinned, pinned_bytes, std::byte{7});
  device->ClearMemory(Stream::kMain, from.data(), bytes);
  PrintCopy("copy to the device", static_cast<double>(pinned_bytes),
            TimeOnDevice(device, kRounds, 1, [&] {
              device->CopyIn(Stream::kMain, from.data(), pinned, pinned_bytes);
            }));
  PrintCopy("copy from the device", static_cast<double>(pinned_bytes),
            TimeOnDevice(device, kRounds, 1, [&] {
              device->CopyOut(Stream::kMain, pinned, from.data(), pinned_bytes);
            }));
  // Read once and written once.
  PrintCopy("copy within the device", 2.0 * static_cast<double>(bytes),
            TimeOnDevice(device, kRounds, 1, [&] {
              device->CopyWithin(Stream::kMain, to.data(), from.data(), bytes);
            }));
  device->FreePinned(pinned);
  return {};
}

void MeasureGraphs(Device* device) {
  for (const int nodes : {1, 8, 64}) {
    const double us = TimeEmptyGraph(device, nodes, kRounds).median * 1e6;
    PrintLine({{"probe", "empty graph"}, {"nodes", nodes}, {"us", us}});
  }
}

/// Numbers from -1 to 1 without a pattern.
std::vector<float> SomeNumbers(std::size_t count) {
  std::vector<float> numbers(count);
  std::uint32_t seed = 1;
  for (float& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = static_cast<float>(seed >> 8) / static_cast<float>(1u << 23) - 1.0f;
  }
  return numbers;
}

Status MeasureProduct(Device* device, DevicePrecision precision, bool small) {
  const int side = small ? 64 : 8192;
  const std::size_t count = static_cast<std::size_t>(side) * side;
  DeviceMemory memory;
  const auto a = memory.Plan<float>(MemoryPurpose::kWorkspace, count);
  const auto b = memory.Plan<float>(MemoryPurpose::kWorkspace, count);
  const auto c = memory.Plan<float>(MemoryPurpose::kWorkspace, count);
  MURMURATE_RETURN_IF_ERROR(memory.Allocate(device));
  const std::vector<float> numbers = SomeNumbers(count);
  device->CopyIn(Stream::kMain, a.data(), numbers.data(), a.bytes());
  device->CopyIn(Stream::kMain, b.data(), numbers.data(), b.bytes());
  const ProductCall call{.rows = side,
                         .columns = side,
                         .depth = side,
                         .a = a.data(),
                         .a_stride = side,
                         .b = b.data(),
                         .b_stride = side,
                         .c = c.data(),
                         .c_stride = side};
  const double seconds =
      TimeOnDevice(device, kRounds, 1, [&] { device->Multiply(Stream::kMain, call); }).median;
  PrintLine({{"probe", "product"},
             {"precision", NameOf(precision)},
             {"side", side},
             {"tflop_s", 2.0 * side * side * side / seconds * 1e-12}});
  return {};
}

Status Probe(const DeviceBenchOptions& options) {
  for (const DevicePrecision precision :
       {DevicePrecision::kFp32, DevicePrecision::kTf32, DevicePrecision::kBf16}) {
    auto device = OpenBenchDevice(options.device, precision);
    if (!device.ok()) return device.status();
    if (precision == DevicePrecision::kFp32) {
      Describe(device->get());
      MURMURATE_RETURN_IF_ERROR(MeasureCopies(device->get(), options.small));
      MeasureGraphs(device->get());
    }
    MURMURATE_RETURN_IF_ERROR(MeasureProduct(device->get(), precision, options.small));
    if (const std::string error = (*device)->error(); !error.empty()) return ResourceError(error);
    if (precision == DevicePrecision::kBf16) Describe(device->get());  // with its libraries
  }
  return {};
}

Status Hold(const DeviceBenchOptions& options) {
  auto device = OpenBenchDevice(options.device, DevicePrecision::kFp32);
  if (!device.ok()) return device.status();
  const std::size_t left = std::strtoull(options.words[1].c_str(), nullptr, 10) << 20;
  const HeldMemory held(device->get(), left);
  PrintLine({{"probe", "held"}, {"bytes", held.bytes()}});
  while (std::getchar() != EOF) {
  }
  return {};
}

Status Run(int argc, char** argv) {
  const auto options = ParseDeviceBench(argc, argv);
  if (!options.ok()) return options.status();
  if (options->words.empty()) return Probe(*options);
  if (options->words.size() == 2 && options->words[0] == "hold") return Hold(*options);
  return InvalidArgument("expected nothing or: hold MIB");
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  const murmurate::Status status = murmurate::Run(argc, argv);
  return status.ok() ? 0 : murmurate::Fail(status);
}
