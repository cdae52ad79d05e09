// Whole networks of a device against this processor's.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/device/network_run.h"
#include "tests/network/network_reference.h"

namespace murmurate {
namespace {

std::vector<NetworkCase> Cases() {
  std::vector<NetworkCase> cases = NetworkCases();
  cases.push_back({"Nature",
                   "observation uint8 24 20 1\naction discrete 4\ninput - stack 4\n"
                   "conv 8 8 4 0 relu\nconv 8 3 2 1 relu\nconv 6 2 1 0 relu\nflatten\ntrunk\n"
                   "dense 40 relu\nseparate_value 0\nnormalize_observation 0\n"});
  cases.push_back({"Separate",
                   "observation float32 6\naction continuous 3\ndense 20 tanh\ndense 18 tanh\n"
                   "separate_value 1\nnormalize_observation 1\nstate_dependent_deviation 0\n"
                   "squashed 0\n"});
  cases.push_back({"LstmAfterDense",
                   "observation float32 6\naction discrete 3\ndense 10 relu\nlstm 9\n"
                   "separate_value 0\nnormalize_observation 0\n"});
  cases.push_back({"TwoRecurrent",
                   "observation float32 6\naction discrete 3\ngru 10\nlstm 9\ndense 8 tanh\ngru 7\n"
                   "separate_value 0\nnormalize_observation 0\n"});
  return cases;
}

class DeviceNetworkTest : public testing::TestWithParam<NetworkCase> {
 protected:
  const ModelSpec spec = SpecOf(GetParam());
};

TEST_P(DeviceNetworkTest, GivesWhatThisProcessorGives) {
  for (const auto& [steps, lanes] : {std::pair{1, 1}, std::pair{5, 7}, std::pair{2, 64}}) {
    SCOPED_TRACE(steps * lanes);
    const NetworkRows rows(spec, steps, lanes);
    NetworkOnDevice device(spec, rows.rows() + 1);
    ExpectSameNumbers(spec, device.Run(rows), rows.OnThisProcessor());
    if (HasFatalFailure()) return;
  }
}

TEST_P(DeviceNetworkTest, GivesTheSameBitsInEveryOrderOfThreads) {
  const NetworkRows rows(spec, 3, 25);
  const NetworkNumbers numbers = NetworkOnDevice(spec, rows.rows()).Run(rows);
  for (const std::uint64_t seed : {0, 1, 7}) {
    HostDeviceOptions options;
    options.seed = seed;
    EXPECT_EQ(NetworkOnDevice(spec, rows.rows() + 30, std::move(options)).Run(rows), numbers)
        << "seed " << seed;
  }
}

TEST_P(DeviceNetworkTest, TakesFewerRowsThanBefore) {
  const NetworkRows many(spec, 4, 9, 1), few(spec, 3, 4, 2);
  NetworkOnDevice device(spec, many.rows());
  device.Run(many);
  ExpectSameNumbers(spec, device.Run(few), few.OnThisProcessor());
}

TEST_P(DeviceNetworkTest, CanBeRecorded) {
  const NetworkRows rows(spec, 3, 5, 1), others(spec, 3, 5, 2);
  NetworkOnDevice device(spec, rows.rows());
  device.Load(rows);
  device.device().BeginGraph(Stream::kMain);
  device.Forward();
  device.Backward();
  const DeviceGraph graph = device.device().EndGraph(Stream::kMain);
  ASSERT_GE(graph, 0);
  for (const NetworkRows* const batch : {&rows, &others, &rows}) {
    device.Load(*batch);
    device.device().Replay(Stream::kMain, graph);
    ExpectSameNumbers(spec, device.Numbers(), batch->OnThisProcessor());
  }
}

TEST_P(DeviceNetworkTest, RowsWithoutGradientsAddNothing) {
  const int lanes = 6;
  NetworkRows rows(spec, 2, lanes), padded(spec, 2, 2 * lanes, 5);
  const std::size_t outputs = rows.d_outputs.size() / rows.rows();
  std::fill(padded.d_outputs.begin(), padded.d_outputs.end(), 0.0f);
  std::fill(padded.d_values.begin(), padded.d_values.end(), 0.0f);
  const std::size_t words = rows.words.size() / rows.rows();
  const std::size_t states = rows.state0.size() / lanes;
  for (int step = 0; step < 2; ++step)
    for (int lane = 0; lane < lanes; ++lane) {
      const std::size_t from = step * lanes + lane, to = step * 2 * lanes + lane;
      std::copy_n(rows.d_outputs.data() + from * outputs, outputs,
                  padded.d_outputs.data() + to * outputs);
      padded.d_values[to] = rows.d_values[from];
      padded.first[to] = rows.first[from];
      std::copy_n(rows.words.data() + from * words, words, padded.words.data() + to * words);
      for (std::size_t i = 0; i < rows.inputs.size(); ++i) {
        const std::size_t width = rows.inputs[i].size() / rows.rows();
        std::copy_n(rows.inputs[i].data() + from * width, width,
                    padded.inputs[i].data() + to * width);
      }
    }
  std::copy_n(rows.state0.data(), lanes * states, padded.state0.data());
  NetworkNumbers numbers = NetworkOnDevice(spec, padded.rows()).Run(padded);
  NetworkNumbers expected = padded.OnThisProcessor();
  expected.gradient = rows.OnThisProcessor().gradient;
  ExpectSameNumbers(spec, numbers, expected);
}

TEST_P(DeviceNetworkTest, GivesValuesAlone) {
  const NetworkRows rows(spec, 1, 5);
  NetworkOnDevice device(spec, rows.rows());
  const std::vector<float> values = device.Run(rows).values;
  const NetworkRows others(spec, 1, 5, 2);
  const NetworkNumbers before = device.Run(others);
  device.Load(rows);
  device.Forward(true);
  const NetworkNumbers after = device.Numbers();
  EXPECT_EQ(after.values, values);
  EXPECT_EQ(after.outputs, before.outputs) << "outputs were computed";
}

INSTANTIATE_TEST_SUITE_P(All, DeviceNetworkTest, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace murmurate
