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

TEST_P(PendulumTest, IsLearnedFromStepsDrawnByTheirErrors) {
  ReplayRun run = Small(GetParam(), "pendulum");
  run.algorithm.replay.priority_exponent = 0.6;
  EXPECT_GE(TrainFromReplay(run, 1).back().mean_return, -350.0)
      << "a random policy has about -1200";
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

/// The time limit cuts every episode in the last place of the chain. With a limit that counts as an
/// end its value is 1, with the next episode's beginning as what follows 5.
TEST(ChainTest, TheValueAtTheTimeLimitIsTheOneWithoutIt) {
  ReplayRun run = Small("dqn", "chain");
  run.algorithm.normalize_reward = false;
  run.algorithm.gamma = 0.9;
  run.algorithm.target_every = 50;
  run.trunk = {{32, Activation::kRelu}};
  run.evaluation_episodes = 1;
  const std::vector<ReplayScore> scores = TrainFromReplay(run, 1);
  EXPECT_NEAR(scores.back().last_output, 1 / (1 - 0.9), 0.05 * 10);
  EXPECT_GE(scores.back().mean_return, 29.0) << "of 30";
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

/// An episode has 8 steps, a trajectory 5: the cue comes to the question over a border, by the state
/// that is stored there.
ReplayRun Recall() {
  ReplayRun run;
  run.environment = "recall";
  run.options.distractors = 6;
  run.algorithm = UsualSettings("r2d2", 8, 5);
  run.algorithm.replay.sequence = 15;
  run.algorithm.burn_in = 5;
  run.algorithm.replay.minibatch = 32;
  run.algorithm.replay.samples_per_insert = 64;
  run.algorithm.learning_rate = 3e-3;
  run.trunk = {*Layer::Parse("gru 16")};
  run.agents = 8;
  run.steps = 8'000;
  run.evaluate_every = 4'000;
  run.evaluation_episodes = 100;
  return run;
}

TEST(RecallTest, IsLearnedBySequences) {
  const ReplayRun run = Recall();
  const std::vector<ReplayScore> scores = TrainFromReplay(run, 1);
  EXPECT_GE(scores.back().mean_return, 0.95) << "without a memory 0.25";
  EXPECT_EQ(TrainFromReplay(run, 1).back().mean_return, scores.back().mean_return);
}

/// States that players stored, against those that the learner finds under the same weights, and
/// under weights that moved on.
TEST(RecallTest, StatesDriftWithTheWeights) {
  const auto drift = [](double learning_rate) {
    ReplayRun run = Recall();
    run.algorithm.learning_rate = learning_rate;
    run.steps = run.evaluate_every = 2'000;
    run.evaluation_episodes = 1;
    const LearnReport last = TrainFromReplay(run, 1).back().last;
    for (const auto& [metric, value] : last.metrics)
      if (std::string_view(metric->name) == "train/state_drift") return value;
    return -1.0;
  };
  const double same = drift(1e-12), moved = drift(3e-3);
  EXPECT_GE(same, 0.0) << "the metric is there";
  EXPECT_LT(same, 1e-5);
  EXPECT_GT(moved, 0.01);
}

}  // namespace
}  // namespace murmurate
