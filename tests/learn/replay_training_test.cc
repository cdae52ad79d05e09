// Algorithms that learn from a replay, on games, in one thread (replay_training.h).
#include "tests/learn/replay_training.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

/// Small networks and minibatches: seconds, where the examples take a minute.
ReplayRun Small(const std::string& algorithm, const std::string& environment) {
  ReplayRun run;
  run.environment = environment;
  run.algorithm = UsualSettings(algorithm, 4, 16);
  run.algorithm.learning_rate = 2e-3;
  run.algorithm.replay.capacity = 20'000;
  run.algorithm.replay.learning_starts = 500;
  run.algorithm.replay.minibatch = 64;
  run.algorithm.replay.samples_per_insert = 64;
  run.trunk = {{32, Activation::kRelu}, {32, Activation::kRelu}};
  run.agents = 4;
  run.steps = 12'800;
  run.evaluate_every = 6'400;
  return run;
}

class PendulumTest : public testing::TestWithParam<const char*> {};

TEST_P(PendulumTest, IsLearned) {
  const std::vector<ReplayScore> scores = TrainFromReplay(Small(GetParam(), "pendulum"), 1);
  ASSERT_EQ(scores.size(), 2u);
  EXPECT_GE(scores.back().mean_return, -350.0) << "a random policy has about -1200";
  EXPECT_NEAR(static_cast<double>(scores.back().updates), 12'800 - 500, 64);
}

TEST_P(PendulumTest, IsTheSameRunEachTime) {
  ReplayRun run = Small(GetParam(), "pendulum");
  run.steps = run.evaluate_every = 960;
  const double once = TrainFromReplay(run, 3).back().mean_return;
  EXPECT_EQ(TrainFromReplay(run, 3).back().mean_return, once);
  EXPECT_NE(TrainFromReplay(run, 4).back().mean_return, once);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, PendulumTest, testing::Values("sac", "td3"),
                         [](const auto& test) { return std::string(test.param); });

TEST(CartPoleTest, IsLearnedBySacOfChoices) {
  ReplayRun run = Small("sac", "cartpole");
  run.evaluation_episodes = 5;
  const std::vector<ReplayScore> scores = TrainFromReplay(run, 1);
  EXPECT_GE(scores.back().mean_return, 195.0) << "a random policy has about 22";
}

TEST(CartPoleTest, IsLearnedByDqnOfQuantilesAndAValueOfTheState) {
  ReplayRun run = Small("dqn", "cartpole");
  run.algorithm.policy.dueling = true;
  run.algorithm.policy.quantiles = 8;
  run.algorithm.learning_rate = 1e-3;
  run.algorithm.policy.epsilon.from = 1.0;
  run.algorithm.policy.epsilon.steps = 5'000;
  run.steps = 19'200;
  run.evaluation_episodes = 5;
  const std::vector<ReplayScore> scores = TrainFromReplay(run, 1);
  EXPECT_GE(scores.back().mean_return, 195.0) << "a random policy has about 22";
}

}  // namespace
}  // namespace murmurate
