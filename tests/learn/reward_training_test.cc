// CartPole with rewards a thousand times as large: a learner that does not know their size.
#include <gtest/gtest.h>

#include "tests/learn/in_process_training.h"

namespace murmurate {
namespace {

InProcessSettings Thousandfold(bool normalize) {
  InProcessSettings settings = CartPoleSettings();
  settings.reward_times = 1000.0;
  settings.max_steps = 150'000;
  settings.algorithm.normalize_reward = normalize;
  settings.algorithm.reward_clip = normalize ? 10.0 : 0.0;
  return settings;
}

TEST(RewardTraining, NormalizedRewardsAreLearnedFromWhateverTheirSize) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const TrainingOutcome outcome = TrainInProcess(Thousandfold(true), seed);
    EXPECT_TRUE(outcome.solved) << "seed " << seed;
    RecordProperty("steps_" + std::to_string(seed), static_cast<int>(outcome.steps));
  }
}

TEST(RewardTraining, WithoutItTheyAreNot) {
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    EXPECT_FALSE(TrainInProcess(Thousandfold(false), seed).solved) << "seed " << seed;
}

TEST(RewardTraining, AScaleDoesItToo) {
  InProcessSettings settings = Thousandfold(false);
  settings.algorithm.reward_scale = 0.001;
  const TrainingOutcome scaled = TrainInProcess(settings, 1);
  EXPECT_TRUE(scaled.solved);
  settings.reward_times = 1.0;
  settings.algorithm.reward_scale = 1.0;
  EXPECT_EQ(TrainInProcess(settings, 1).steps, scaled.steps) << "the same numbers, the same run";
}

}  // namespace
}  // namespace murmurate
