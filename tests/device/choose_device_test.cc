// What device = "auto" decides. The rate of a processor is one Zen 4 core's, 92 to 118 GFLOP/s.
#include "server/device/choose_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/learn/algorithms.h"
#include "server/schema/model_config.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

DeviceQuestion QuestionOf(const ModelSpec& spec, const AlgorithmSettings& settings,
                          DevicePrecision precision = DevicePrecision::kFp32) {
  return {.work = WorkOf(spec, settings),
          .processor = SpeedOfProcessor(92e9),
          .gpu = SpeedOfGpu(kMostMultiprocessors, precision)};
}

PolicyAndValue Small() {
  return {.spaces = {Box({4}), Discrete(2)},
          .trunk = {{64, Activation::kTanh}, {64, Activation::kTanh}},
          .separate_value = true};
}

AlgorithmSettings Ppo(int steps, int minibatch, int epochs) {
  AlgorithmSettings settings;
  settings.batch_steps = steps;
  settings.minibatch = minibatch;
  settings.epochs = epochs;
  return settings;
}

TEST(ChooseDevice, CountsTheWorkOfAReplayByItsSamples) {
  AlgorithmSettings settings = Ppo(64, 64, 1);
  settings.kind = AlgorithmNamed("dqn");
  settings.replay.samples_per_insert = 32;
  settings.replay.minibatch = 128;
  const LearningWork work = WorkOf(*settings.kind->networks(Small().ToSpec(), settings), settings);
  EXPECT_EQ(work.rows, 2048);
  EXPECT_EQ(work.updates, 16);
  EXPECT_EQ(work.parameters, ParameterLayout(Small().ToSpec()).published.count)
      << "targets are not stepped";
}

TEST(ChooseDevice, CountsTheWorkOfTheSmallModel) {
  const LearningWork work = WorkOf(Small(), Ppo(2048, 1024, 4));
  EXPECT_EQ(work.rows, 8192);
  EXPECT_EQ(work.updates, 8);
  EXPECT_EQ(work.parameters, 9184) << "9,155 and what pads their tensors";
  EXPECT_NEAR(work.flops_a_row, 52e3, 2e3) << "3 passes of 2 x 64 x 64, 2 of 2 x 4 x 64, heads";
  EXPECT_EQ(work.launches, 22);
}

TEST(ChooseDevice, ASmallModelStaysWhereItsActorsAreTheSlowerSide) {
  DeviceQuestion question = QuestionOf(Small(), Ppo(2048, 1024, 4));
  question.play_s = 7e-3;
  const DeviceChoice choice = ChooseDevice(question);
  EXPECT_FALSE(choice.gpu);
  EXPECT_EQ(
      choice.sentence,
      "cpu: learning from a batch of 2,048 steps, 8 updates, takes 4.8 ms here and 0.46 ms on "
      "cuda:0, but the actors need 7 ms to play it");
}

TEST(ChooseDevice, OfPlayThatWasNotMeasuredItSaysSo) {
  DeviceQuestion question = QuestionOf(Small(), Ppo(2048, 256, 10));
  question.play_s = question.work.batch_steps / kAssumedStepsASecond;
  question.play_assumed = true;
  const DeviceChoice choice = ChooseDevice(question);
  EXPECT_FALSE(choice.gpu);
  EXPECT_THAT(choice.sentence, HasSubstr("but actors, at 100,000 steps a second, need 20 ms"));
}

TEST(ChooseDevice, AShortRunIsOverBeforeAGpuPays) {
  DeviceQuestion question = QuestionOf(Small(), Ppo(2048, 256, 10));
  question.batches = 100;
  EXPECT_THAT(ChooseDevice(question).sentence,
              HasSubstr("of the whole run, and opening a GPU takes 3 s"));
  question.batches = 100'000;
  EXPECT_TRUE(ChooseDevice(question).gpu);
}

TEST(ChooseDevice, PicturesGoToTheGpu) {
  const ModelSpec spec =
      *MakeSpec({.trunk = "nature_cnn", .frame_stack = 4}, {Image({84, 84, 1}), Discrete(6)});
  for (const DevicePrecision precision :
       {DevicePrecision::kFp32, DevicePrecision::kTf32, DevicePrecision::kBf16}) {
    DeviceQuestion question = QuestionOf(spec, Ppo(1024, 1024, 1), precision);
    EXPECT_NEAR(question.work.flops_a_row, 49.5e6, 0.5e6);
    question.play_s = 1024 / kAssumedStepsASecond;
    question.batches = 1000;
    const DeviceChoice choice = ChooseDevice(question);
    EXPECT_TRUE(choice.gpu) << choice.sentence;
    EXPECT_THAT(choice.sentence, StartsWith("cuda:0: learning from a batch of 1,024 steps, 1 "));
    question.gpu = SpeedOfGpu(20, precision);
    EXPECT_TRUE(ChooseDevice(question).gpu) << "on a small GPU, too";
  }
}

TEST(ChooseDevice, OneStreamedSequenceStaysOnTheProcessor) {
  const ModelSpec spec = *MakeSpec({.layers = {}, .recurrent = "lstm 128"}, {Box({8}), Box({1})});
  AlgorithmSettings settings = Ppo(20, 20, 1);
  settings.trajectory_length = 20;
  const DeviceQuestion question = QuestionOf(spec, settings);
  const DeviceChoice choice = ChooseDevice(question);
  EXPECT_FALSE(choice.gpu) << choice.sentence;
  EXPECT_THAT(choice.sentence, HasSubstr("of 20 steps, 1 updates, takes"));
}

}  // namespace
}  // namespace murmurate
