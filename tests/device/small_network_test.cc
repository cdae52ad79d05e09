// Small dense networks, computed as a whole, against this processor's and against the same network
// layer by layer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/device/small_network_cost.h"
#include "tests/device/network_run.h"
#include "tests/network/network_reference.h"

namespace murmurate {
namespace {

NetworkCase Of(const char* name, int numbers, const std::string& layers, int separate) {
  return {name, "observation float32 " + std::to_string(numbers) + "\naction discrete 5\n" +
                    layers + "separate_value " + std::to_string(separate) +
                    "\nnormalize_observation 0\n"};
}

std::vector<NetworkCase> Cases() {
  return {Of("CartPole", 4, "dense 64 tanh\ndense 64 tanh\n", 1),
          Of("Shared", 17, "dense 40 relu\ndense 36 elu\n", 0),
          Of("OddWidths", 7, "dense 33 sigmoid\ndense 1 none\ndense 70 tanh\n", 1),
          Of("FourLayers", 3, "dense 8 relu\ndense 9 tanh\ndense 10 elu\ndense 11 sigmoid\n", 0),
          Of("Wide", 256, "dense 256 relu\ndense 65 tanh\n", 1),
          Of("ShortStages", 37, "dense 300 relu\ndense 270 tanh\n", 0),
          Of("Widest", 512, "dense 20 relu\ndense 512 tanh\n", 0),
          Of("HeadsAlone", 5, "", 0)};
}

NetworkOnDevice Whole(const ModelSpec& spec, int max_rows, std::uint64_t seed = 0) {
  HostDeviceOptions options;
  options.seed = seed;
  return NetworkOnDevice(spec, max_rows, std::move(options), DeviceNetworkForm::kBySize);
}

class SmallNetworkTest : public testing::TestWithParam<NetworkCase> {
 protected:
  const ModelSpec spec = SpecOf(GetParam());
};

TEST_P(SmallNetworkTest, GivesWhatThisProcessorGives) {
  for (const int count : {1, 15, 16, 17, 65, 257}) {
    SCOPED_TRACE(count);
    const NetworkRows rows(spec, 1, count);
    NetworkOnDevice device = Whole(spec, count + 5);
    ExpectSameNumbers(spec, device.Run(rows), rows.OnThisProcessor());
    if (HasFatalFailure()) return;
  }
}

TEST_P(SmallNetworkTest, TakesFewerCalls) {
  const NetworkRows rows(spec, 1, 20);
  NetworkOnDevice whole = Whole(spec, 20), layered(spec, 20);
  const NetworkNumbers of_whole = whole.Run(rows), of_layers = layered.Run(rows);
  EXPECT_LT(whole.device().calls(), layered.device().calls());
  ExpectSameNumbers(spec, of_whole, of_layers);
}

TEST_P(SmallNetworkTest, GivesTheSameBitsInEveryOrderOfThreads) {
  const NetworkRows rows(spec, 1, 70);
  const NetworkNumbers numbers = Whole(spec, 70).Run(rows);
  for (const std::uint64_t seed : {0, 1, 7})
    EXPECT_EQ(Whole(spec, 170, seed).Run(rows), numbers) << "seed " << seed;
}

TEST_P(SmallNetworkTest, GivesValuesAlone) {
  const NetworkRows rows(spec, 1, 20), others(spec, 1, 20, 2);
  NetworkOnDevice device = Whole(spec, 20);
  const std::vector<float> values = device.Run(rows).values;
  const NetworkNumbers before = device.Run(others);
  device.Load(rows);
  device.Forward(true);
  const NetworkNumbers after = device.Numbers();
  EXPECT_EQ(after.values, values);
  EXPECT_EQ(after.outputs, before.outputs) << "outputs were computed";
}

INSTANTIATE_TEST_SUITE_P(All, SmallNetworkTest, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

std::uint64_t CallsOf(const NetworkCase& network, int max_rows) {
  const ModelSpec spec = SpecOf(network);
  const NetworkRows rows(spec, 1, 1);
  NetworkOnDevice device = Whole(spec, max_rows);
  device.Run(rows);
  return device.device().calls();
}

TEST(SmallNetwork, IsNoneThatIsWiderOrCostsMoreAsAWhole) {
  const NetworkCase small = Of("Small", 4, "dense 64 tanh\ndense 64 tanh\n", 1);
  const std::uint64_t few = CallsOf(small, 8192);
  EXPECT_EQ(CallsOf(Of("Wide", 4, "dense 512 tanh\ndense 64 tanh\n", 1), 256), few);
  EXPECT_GT(CallsOf(Of("Wide", 4, "dense 512 tanh\ndense 512 tanh\n", 1), 8192), few);
  EXPECT_GT(CallsOf(Of("TooWide", 4, "dense 516 tanh\ndense 64 tanh\n", 1), 16), few);
  EXPECT_GT(CallsOf(Of("WideInput", 513, "dense 64 tanh\n", 1), 16), few);
}

/// Of two layers in both trunks, with 17 inputs and 6 outputs.
bool AsAWhole(int units, double rows, DevicePrecision precision) {
  CountedNetwork network{.towers = 2, .widest = units, .weight_parts = 8, .layers = {}};
  for (const int heads : {6, 1})
    for (const CountedLayer& layer :
         {CountedLayer{17, units, true}, {units, units, false}, {units, heads, false}})
      network.layers.push_back(layer);
  return SecondsAsAWhole(network, rows) <= SecondsByLayers(network, rows, precision);
}

/// The most rows, among powers of 2, of a minibatch that is computed as a whole; 0: none.
int MostRowsAsAWhole(int units, DevicePrecision precision) {
  int most = 0;
  for (int rows = 128; rows <= 1 << 20; rows *= 2) {
    if (!AsAWhole(units, rows, precision)) continue;
    EXPECT_TRUE(most == 0 || most == rows / 2) << units << " units change twice";
    most = rows;
  }
  return most;
}

TEST(SmallNetwork, ThatIsWiderOrOfFewerBitsIsALibrarysForFewerRows) {
  constexpr auto kFp32 = DevicePrecision::kFp32, kTf32 = DevicePrecision::kTf32;
  EXPECT_EQ(MostRowsAsAWhole(64, kFp32), 1 << 20);
  EXPECT_EQ(MostRowsAsAWhole(64, kTf32), 1 << 20);
  EXPECT_EQ(MostRowsAsAWhole(256, kFp32), 65536);
  EXPECT_EQ(MostRowsAsAWhole(256, kTf32), 4096);
  EXPECT_EQ(MostRowsAsAWhole(512, kFp32), 4096);
  EXPECT_EQ(MostRowsAsAWhole(512, kTf32), 0);
}

}  // namespace
}  // namespace murmurate
