// Small dense networks, computed as a whole, against this processor's and against the same network
// layer by layer.
#include <gtest/gtest.h>

#include <string>
#include <vector>

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
          Of("Widest", 256, "dense 256 relu\ndense 65 tanh\n", 1),
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

TEST(SmallNetwork, IsNoneThatIsWideOrHasManyRows) {
  const NetworkCase small = Of("Small", 4, "dense 64 tanh\ndense 64 tanh\n", 1);
  const std::uint64_t few = CallsOf(small, 8192);
  EXPECT_GT(CallsOf(small, 65536), few);
  EXPECT_GT(CallsOf(Of("Wide", 4, "dense 260 tanh\ndense 64 tanh\n", 1), 16), few);
  EXPECT_GT(CallsOf(Of("WideInput", 257, "dense 64 tanh\n", 1), 16), few);
}

}  // namespace
}  // namespace murmurate
