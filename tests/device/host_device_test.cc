// The host device as a Device: copies, kernels, products, graphs, events, failures.
#include "tests/device/host_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "server/compute/device/calls/layers.h"
#include "tests/device/device_numbers.h"

namespace murmurate {
namespace {

TEST(HostDevice, RunsAKernelOverItsGrid) {
  HostDevice device;
  const DeviceNumbers y(&device, {1, -2, 3, -4, 5, -6}), bias(&device, {10, 0, -10});
  device.Launch(Stream::kMain, Grid::For(6, 4),
                BiasActivationCall{.y = y.data(),
                                   .bias = bias.data(),
                                   .rows = 2,
                                   .columns = 3,
                                   .activation = DeviceActivation::kRelu});
  EXPECT_EQ(y.Read(), (std::vector<float>{11, 0, 0, 6, 5, 0}));
}

TEST(HostDevice, DoesNothingBeforeItIsAwaited) {
  HostDevice device;
  const DeviceNumbers y(&device, std::vector<float>{1});
  float out = 7;
  const DeviceEvent done = device.MakeEvent();
  EXPECT_TRUE(device.Reached(done)) << "an event is reached until it is recorded";
  device.CopyOut(Stream::kMain, &out, y.data(), sizeof out);
  device.Record(Stream::kMain, done);
  EXPECT_EQ(out, 7);
  device.Await(done);
  EXPECT_EQ(out, 1);
}

TEST(HostDevice, MultipliesEveryFormOfProduct) {
  HostDevice device;
  // a [2][3] and b [3][2], and both transposed, with a stride one longer than their rows.
  const DeviceNumbers a(&device, {1, 2, 3, 99, 4, 5, 6, 99});
  const DeviceNumbers at(&device, {1, 4, 99, 2, 5, 99, 3, 6, 99});
  const DeviceNumbers b(&device, {1, -1, 99, 2, 0, 99, 0, 3, 99});
  const DeviceNumbers bt(&device, {1, 2, 0, 99, -1, 0, 3, 99});
  for (const bool a_transposed : {false, true}) {
    for (const bool b_transposed : {false, true}) {
      for (const bool accumulate : {false, true}) {
        const DeviceNumbers c(&device, {100, 100, 5, 100, 100});
        device.Multiply(Stream::kMain, {.rows = 2,
                                        .columns = 2,
                                        .depth = 3,
                                        .a = a_transposed ? at.data() : a.data(),
                                        .a_stride = a_transposed ? 3 : 4,
                                        .a_transposed = a_transposed,
                                        .b = b_transposed ? bt.data() : b.data(),
                                        .b_stride = b_transposed ? 4 : 3,
                                        .b_transposed = b_transposed,
                                        .c = c.data(),
                                        .c_stride = 3,
                                        .accumulate = accumulate});
        const float add = accumulate ? 100 : 0;
        EXPECT_EQ(c.Read(), (std::vector<float>{5 + add, 8 + add, 5, 14 + add, 14 + add}));
      }
    }
  }
}

TEST(HostDevice, ConvolvesAndGivesBothGradients) {
  HostDevice device;
  ConvolutionCall call = {
      .images = 1, .height = 2, .width = 3, .channels = 1, .filters = 1, .kernel = 2};
  const DeviceNumbers input(&device, {1, 2, 3, 4, 5, 6}), weight(&device, {1, 10, 100, 1000});
  const DeviceNumbers output(&device, DeviceNumbers::Count{2});
  call.input = input.data();
  call.weight = weight.data();
  call.output = output.data();
  device.Convolve(Stream::kMain, call);
  EXPECT_EQ(output.Read(), (std::vector<float>{5421, 6532}));

  const DeviceNumbers gradient(&device, {1, 2}), d_input(&device, DeviceNumbers::Count{6});
  const DeviceNumbers d_weight(&device, DeviceNumbers::Count{4});
  call.output = gradient.data();
  call.kind = ConvolutionCall::Kind::kInputGradient;
  call.input = d_input.data();
  device.Convolve(Stream::kMain, call);
  EXPECT_EQ(d_input.Read(), (std::vector<float>{1, 12, 20, 100, 1200, 2000}));

  call.kind = ConvolutionCall::Kind::kWeightGradient;
  call.input = input.data();
  call.weight = d_weight.data();
  for (int time = 0; time < 2; ++time) device.Convolve(Stream::kMain, call);
  EXPECT_EQ(d_weight.Read(), (std::vector<float>{5, 8, 14, 17})) << "nothing is added up";
}

TEST(HostDevice, AGraphRunsAtReplayWithTheArgumentsItWasGiven) {
  HostDevice device;
  const DeviceNumbers y(&device, {1, 1}), bias(&device, std::vector<float>{1});
  BiasActivationCall call = {.y = y.data(),
                             .bias = bias.data(),
                             .rows = 2,
                             .columns = 1,
                             .activation = DeviceActivation::kNone};
  device.BeginGraph(Stream::kMain);
  device.Launch(Stream::kMain, Grid::For(2), call);
  const DeviceGraph graph = device.EndGraph(Stream::kMain);
  EXPECT_EQ(y.Read(), (std::vector<float>{1, 1})) << "recording runs nothing";

  call.rows = 1;  // is not in the graph
  device.Replay(Stream::kMain, graph);
  device.Replay(Stream::kMain, graph);
  device.DropGraph(graph);
  EXPECT_EQ(y.Read(), (std::vector<float>{3, 3}));
}

TEST(HostDevice, MemoryIsNotANumberUntilItIsWritten) {
  HostDevice device;
  const DeviceNumbers y(&device, DeviceNumbers::Count{3});
  for (const float value : y.Read()) EXPECT_TRUE(std::isnan(value));
  device.ClearMemory(Stream::kMain, y.data(), 2 * sizeof(float));
  const std::vector<float> cleared = y.Read();
  EXPECT_EQ(cleared[1], 0.0f);
  EXPECT_TRUE(std::isnan(cleared[2]));
}

TEST(HostDevice, KnowsWhatComputesWithMemoryThatWasNotWritten) {
  HostDevice device({.poison = Poison::kFloats});
  const DeviceNumbers y(&device, DeviceNumbers::Count{3}), a(&device, {1, 2, 3});
  AddNumbersCall call{.a = a.data(), .b = y.data(), .sum = y.data(), .count = 3};
  device.CopyWithin(Stream::kMain, y.data(), a.data(), a.bytes());
  device.Launch(Stream::kMain, Grid::For(3), call);
  EXPECT_EQ(y.Read(), (std::vector<float>{2, 4, 6}));
  EXPECT_TRUE(device.unwritten().empty());
  const DeviceNumbers none(&device, DeviceNumbers::Count{3});
  call.b = none.data();
  device.Launch(Stream::kMain, Grid::For(3), call);
  device.Multiply(Stream::kMain, {.rows = 1,
                                  .columns = 1,
                                  .depth = 3,
                                  .a = none.data(),
                                  .a_stride = 3,
                                  .b = a.data(),
                                  .b_stride = 1,
                                  .c = y.data(),
                                  .c_stride = 1});
  device.Finish();
  EXPECT_EQ(device.unwritten(), (std::set<std::string>{"AddNumbers", "Multiply"}));
}

TEST(HostDevice, MemoryHasALimit) {
  HostDevice device({.memory_bytes = 1000, .pinned_bytes = 1024});
  void* const most = device.Allocate(1000);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(device.description().free_bytes, 0u);
  EXPECT_EQ(device.Allocate(1), nullptr);
  device.Free(most);
  void* const again = device.Allocate(1);
  EXPECT_NE(again, nullptr);
  device.Free(again);
  EXPECT_EQ(device.blocks(), 0u);

  std::byte* const pinned = device.AllocatePinned(512);
  ASSERT_NE(pinned, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pinned) % 256, 0u);
  EXPECT_EQ(device.AllocatePinned(512), nullptr);
  device.FreePinned(pinned);
}

TEST(HostDevice, ALostDeviceDoesNothingMore) {
  HostDevice device;
  const DeviceNumbers y(&device, std::vector<float>{1});
  const DeviceEvent done = device.MakeEvent();
  device.FailAfter(1);
  float out = 7;
  device.CopyOut(Stream::kMain, &out, y.data(), sizeof out);
  EXPECT_EQ(device.error(), "");
  device.Record(Stream::kMain, done);  // the call at which it is lost
  EXPECT_EQ(device.error(), "host device: the device was lost");
  device.Await(done);
  EXPECT_TRUE(device.Reached(done));
  EXPECT_EQ(out, 7) << "what was under way is lost with it";
  EXPECT_EQ(device.Allocate(4), nullptr);
  device.BeginGraph(Stream::kMain);
  EXPECT_EQ(device.EndGraph(Stream::kMain), -1);
  std::byte* const pinned = device.AllocatePinned(4);
  EXPECT_NE(pinned, nullptr);
  device.FreePinned(pinned);
}

}  // namespace
}  // namespace murmurate
