// The numbers are worked out by hand: a row of 128 x 128 x 3 float32 is 196,608 bytes, a trajectory
// of T steps holds T + 1 rows and room for T / 8 that end an episode.
#include "server/config/batch_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/experience/experience_channel.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kMessage = (16u << 20) - 8192;

ModelSettings SettingsOf(const Spaces& spaces, const std::string& text = "") {
  const auto config = Load(text);
  EXPECT_TRUE(config.ok()) << config.status();
  const auto settings = ModelFor(*config, "default", spaces);
  EXPECT_TRUE(settings.ok()) << settings.status();
  return *settings;
}

const Spaces kLargePicture = {Box({128, 128, 3}), Discrete(4)};

/// 30 boxes of 65,536 float32: 7,864,320 bytes a row.
Spaces Enormous() {
  std::vector<std::pair<std::string, Space>> boxes;
  for (int i = 0; i < 30; ++i) boxes.emplace_back("part" + std::to_string(i), Box({65536}));
  return {Dict(std::move(boxes)), Discrete(2)};
}

TEST(FitBatches, WhatFitsIsLeftAlone) {
  ModelSettings settings = SettingsOf({Box({4}), Discrete(2)});
  const auto said = FitBatches("default", kMessage, &settings);
  ASSERT_TRUE(said.ok()) << said.status();
  EXPECT_EQ(*said, "");
  EXPECT_EQ(settings.algorithm.trajectory_length, 128);
  EXPECT_EQ(settings.algorithm.batch_steps, 2048);
  EXPECT_EQ(settings.algorithm.minibatch, 256);
}

TEST(FitBatches, ALargePicturePlaysInShorterTrajectoriesAndSmallerBatches) {
  ModelSettings settings = SettingsOf(kLargePicture);
  const auto said = FitBatches("default", kMessage, &settings);
  ASSERT_TRUE(said.ok()) << said.status();
  // 145 rows are 27.2 MiB, 73 are 13.7; three batches of 32 times 73 rows are 1,314 MiB.
  EXPECT_EQ(settings.algorithm.trajectory_length, 64);
  EXPECT_EQ(settings.algorithm.batch_steps, 1024);
  EXPECT_EQ(settings.algorithm.minibatch, 128) << "as many updates of a batch";
  EXPECT_THAT(*said, AllOf(HasSubstr("model default: a trajectory of 128 steps takes 27.2 MiB and "
                                     "a message holds 16.0 MiB, so algorithm.trajectory_length is "
                                     "64 here; its batches of 2048 steps take 1314."),
                           HasSubstr("may take 1024.0 MiB, so algorithm.batch_steps is 1024")));
  const int trajectories = settings.algorithm.batch_steps / 64;
  const ExperienceChannel channel(settings.spec, 64, trajectories);
  EXPECT_LE(channel.layout.block_bytes, kMessage);
}

TEST(FitBatches, AMinibatchThatIsSetStaysAsFarAsTheBatchHoldsOne) {
  for (const auto& [set, fitted] : {std::pair{"200", 200}, {"1600", 1024}}) {
    ModelSettings settings =
        SettingsOf(kLargePicture, std::string("[algorithm]\nminibatch = ") + set + "\n");
    ASSERT_TRUE(FitBatches("default", kMessage, &settings).ok());
    EXPECT_EQ(settings.algorithm.batch_steps, 1024);
    EXPECT_EQ(settings.algorithm.minibatch, fitted);
  }
}

TEST(FitBatches, WhatTheBatchBoundsFollowsIt) {
  ModelSettings settings = SettingsOf(kLargePicture,
                                      "[model]\nrecurrent = \"lstm 8\"\nthreads = 8\n[algorithm]\n"
                                      "trajectory_length = 200\nbatch_steps = 2000\n"
                                      "minibatch = 2000\nburn_in = 20\n");
  ASSERT_TRUE(FitBatches("default", kMessage, &settings).ok());
  EXPECT_EQ(settings.algorithm.trajectory_length, 50);
  EXPECT_EQ(settings.algorithm.batch_steps, 1000);
  EXPECT_EQ(settings.algorithm.minibatch, 1000);
  EXPECT_EQ(settings.algorithm.burn_in, 5);
  EXPECT_EQ(settings.algorithm.threads, 8);
  settings = SettingsOf(kLargePicture,
                        "[algorithm]\ntrajectory_length = 127\nbatch_steps = 127\n"
                        "minibatch = 127\n");
  const auto said = FitBatches("default", kMessage, &settings);
  ASSERT_TRUE(said.ok());
  EXPECT_EQ(settings.algorithm.trajectory_length, 63);
  EXPECT_EQ(settings.algorithm.batch_steps, 126);
  EXPECT_EQ(settings.algorithm.minibatch, 126);
  EXPECT_THAT(*said, HasSubstr("algorithm.batch_steps is 126, a multiple of it"));
}

TEST(FitBatches, WhatNotEvenOneStepFitsIsRefusedInOneSentence) {
  ModelSettings settings;
  settings.spec.spaces = Enormous();
  const auto said = FitBatches("npc", kMessage, &settings);
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.status().code(), StatusCode::kInvalidArgument);
  // The step's row, the next one and a final one; 24 + 65 x 16 bytes on borders of 64 beside them.
  EXPECT_THAT(said.status().message(),
              AllOf(HasSubstr("model npc: a trajectory of one step takes 235"),
                    HasSubstr(" bytes, expected at most the 16769024 of a message; let the game "
                              "show less, or uint8 in place of float32")));
  EXPECT_EQ(settings.algorithm.trajectory_length, 128);
}

TEST(FitBatches, ATrajectoryBeyondFourGibibytesIsNotTakenForASmallOne) {
  ModelSettings settings = SettingsOf(
      {Box({65536}), Discrete(2)},
      "[algorithm]\ntrajectory_length = 65536\nbatch_steps = 65536\nminibatch = 65536\n");
  ASSERT_TRUE(FitBatches("default", kMessage, &settings).ok());
  EXPECT_EQ(settings.algorithm.trajectory_length, 32);
}

}  // namespace
}  // namespace murmurate
