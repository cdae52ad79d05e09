#include "server/device/device_trial.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/device_event_holder.h"
#include "server/compute/device/device_memory.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

using Floats = std::vector<float>;

/// Numbers from -1 to 1 without a pattern.
Floats SomeNumbers(std::size_t count, std::uint32_t seed) {
  Floats numbers(count);
  for (float& number : numbers) {
    seed = seed * 1664525u + 1013904223u;
    number = static_cast<float>(seed >> 8) / static_cast<float>(1u << 23) - 1.0f;
  }
  return numbers;
}

/// Blocks of floats on the device, and the way to them and back.
class Blocks {
 public:
  explicit Blocks(Device* device) : device_(device), copied_(device) {}

  DeviceArray<float> Plan(std::size_t count) {
    return memory_.Plan<float>(MemoryPurpose::kWorkspace, count);
  }
  Status Allocate() { return memory_.Allocate(device_); }
  void Fill(const DeviceArray<float>& block, const Floats& numbers) {
    device_->CopyIn(Stream::kMain, block.data(), numbers.data(), block.bytes());
    Wait();
  }
  Floats Read(const DeviceArray<float>& block) {
    Floats numbers(block.size());
    device_->CopyOut(Stream::kMain, numbers.data(), block.data(), block.bytes());
    Wait();
    return numbers;
  }

 private:
  void Wait() {
    device_->Record(Stream::kMain, copied_.get());
    device_->Await(copied_.get());
  }

  Device* const device_;
  const DeviceEventHolder copied_;
  DeviceMemory memory_;
};

Status Compare(const Device& device, const Floats& got, const Floats& expected, double tolerance,
               const std::string& what) {
  if (!device.error().empty()) return ResourceError(device.error());
  float largest = 0;
  for (const float value : expected) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < expected.size(); ++i)
    if (!(std::fabs(got[i] - expected[i]) <= tolerance * largest))
      return ResourceError(what + " is wrong on this device: number " + std::to_string(i) + " is " +
                           std::to_string(got[i]) + ", expected " + std::to_string(expected[i]) +
                           "; do not train on it, and test its memory");
  return {};
}

constexpr double kExact = 1e-5, kRounded = 1e-2;

/// A convolution of pictures of 6 x 6 with 4 channels and 8 filters of 3 x 3, padded by 1.
struct SmallConvolution {
  static constexpr int kImages = 3, kSize = 6, kChannels = 4, kFilters = 8, kKernel = 3;
  static constexpr std::size_t kInput = std::size_t{kImages} * kSize * kSize * kChannels;
  static constexpr std::size_t kWeight = std::size_t{kKernel} * kKernel * kChannels * kFilters;
  static constexpr std::size_t kOutput = std::size_t{kImages} * kSize * kSize * kFilters;

  Floats input = SomeNumbers(kInput, 3), weight = SomeNumbers(kWeight, 4),
         output = SomeNumbers(kOutput, 5);

  /// For each product of the sum: the places of its output, input and weight.
  template <typename Visit>
  static void ForEach(const Visit& visit) {
    for (std::size_t i = 0; i < kOutput * kKernel * kKernel * kChannels; ++i) {
      const auto at = static_cast<int>(i);
      const int c = at % kChannels, kx = at / kChannels % kKernel;
      const int ky = at / (kChannels * kKernel) % kKernel;
      const int o = at / (kChannels * kKernel * kKernel), f = o % kFilters;
      const int x = o / kFilters % kSize + kx - 1, y = o / (kFilters * kSize) % kSize + ky - 1;
      const int image = o / (kFilters * kSize * kSize);
      if (x < 0 || y < 0 || x >= kSize || y >= kSize) continue;
      visit(static_cast<std::size_t>(o),
            static_cast<std::size_t>(((image * kSize + y) * kSize + x) * kChannels + c),
            static_cast<std::size_t>(((ky * kKernel + kx) * kChannels + c) * kFilters + f));
    }
  }
};

}  // namespace

Status TryKernel(Device* device) {
  constexpr int kRows = 33, kColumns = 70;
  Blocks blocks(device);
  const DeviceArray<float> y = blocks.Plan(kRows * kColumns), bias = blocks.Plan(kColumns);
  MURMURATE_RETURN_IF_ERROR(blocks.Allocate());
  Floats expected = SomeNumbers(y.size(), 1);
  const Floats added = SomeNumbers(bias.size(), 2);
  blocks.Fill(y, expected);
  blocks.Fill(bias, added);
  const BiasActivationCall call{.y = y.data(),
                                .bias = bias.data(),
                                .rows = kRows,
                                .columns = kColumns,
                                .activation = DeviceActivation::kTanh};
  device->Launch(Stream::kMain, Grid::For(y.size()), call);
  device->BeginGraph(Stream::kMain);
  device->Launch(Stream::kMain, Grid::For(y.size()), call);
  const DeviceGraph graph = device->EndGraph(Stream::kMain);
  if (graph >= 0) device->Replay(Stream::kMain, graph);
  for (int pass = 0; pass < 2; ++pass)
    for (std::size_t i = 0; i < expected.size(); ++i)
      expected[i] = std::tanh(expected[i] + added[i % kColumns]);
  const Floats got = blocks.Read(y);
  device->DropGraph(graph);
  return Compare(*device, got, expected, kExact, "a kernel's result");
}

Status TryProduct(Device* device) {
  constexpr int kRows = 48, kDepth = 80, kColumns = 32;
  Blocks blocks(device);
  const DeviceArray<float> a = blocks.Plan(kRows * kDepth), b = blocks.Plan(kDepth * kColumns),
                           c = blocks.Plan(kRows * kColumns);
  MURMURATE_RETURN_IF_ERROR(blocks.Allocate());
  const Floats left = SomeNumbers(a.size(), 1), right = SomeNumbers(b.size(), 2);
  blocks.Fill(a, left);
  blocks.Fill(b, right);
  device->Multiply(Stream::kMain, {.rows = kRows,
                                   .columns = kColumns,
                                   .depth = kDepth,
                                   .a = a.data(),
                                   .a_stride = kDepth,
                                   .b = b.data(),
                                   .b_stride = kColumns,
                                   .c = c.data(),
                                   .c_stride = kColumns});
  Floats expected(c.size(), 0.0f);
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t i = 0; i < kDepth; ++i)
      for (std::size_t column = 0; column < kColumns; ++column)
        expected[row * kColumns + column] += left[row * kDepth + i] * right[i * kColumns + column];
  return Compare(*device, blocks.Read(c), expected, kRounded, "a product of matrices");
}

Status TryConvolution(Device* device) {
  const SmallConvolution small;
  Blocks blocks(device);
  const DeviceArray<float> input = blocks.Plan(SmallConvolution::kInput),
                           weight = blocks.Plan(SmallConvolution::kWeight),
                           output = blocks.Plan(SmallConvolution::kOutput);
  MURMURATE_RETURN_IF_ERROR(blocks.Allocate());
  using Kind = ConvolutionCall::Kind;
  for (const Kind kind : {Kind::kForward, Kind::kInputGradient, Kind::kWeightGradient}) {
    blocks.Fill(input, small.input);
    blocks.Fill(weight, small.weight);
    blocks.Fill(output, small.output);
    device->Convolve(Stream::kMain, {.kind = kind,
                                     .images = SmallConvolution::kImages,
                                     .height = SmallConvolution::kSize,
                                     .width = SmallConvolution::kSize,
                                     .channels = SmallConvolution::kChannels,
                                     .filters = SmallConvolution::kFilters,
                                     .kernel = SmallConvolution::kKernel,
                                     .padding = 1,
                                     .input = input.data(),
                                     .weight = weight.data(),
                                     .output = output.data()});
    const DeviceArray<float>& result = kind == Kind::kForward         ? output
                                       : kind == Kind::kInputGradient ? input
                                                                      : weight;
    Floats expected(result.size(), 0.0f);
    SmallConvolution::ForEach([&](std::size_t o, std::size_t i, std::size_t w) {
      if (kind == Kind::kForward) expected[o] += small.input[i] * small.weight[w];
      if (kind == Kind::kInputGradient) expected[i] += small.output[o] * small.weight[w];
      if (kind == Kind::kWeightGradient) expected[w] += small.output[o] * small.input[i];
    });
    MURMURATE_RETURN_IF_ERROR(
        Compare(*device, blocks.Read(result), expected, kRounded, "a convolution"));
  }
  return {};
}

}  // namespace murmurate
