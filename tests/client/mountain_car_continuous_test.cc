#include "client/environments/mountain_car_continuous.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/source_file.h"

namespace murmurate {
namespace {

TEST(MountainCarContinuous, MovesAsGymnasiumsDoes) {
  std::ifstream file(SourceFile("tests/fixtures/gymnasium_mountain_car_continuous.txt"));
  ASSERT_TRUE(file.is_open());
  MountainCarContinuous game;
  int steps = 0, ends = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::array<float, 2> state;
    if (line.starts_with("start")) {
      std::string start;
      words >> start >> state[0] >> state[1];
      game.SetState(state);
      continue;
    }
    double force = 0, reward = 0;
    int terminated = 0;
    words >> force >> state[0] >> state[1] >> reward >> terminated;
    const StepOutcome outcome = game.Push(force);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(game.numbers()[i], state[i], 1e-6) << line;
    EXPECT_NEAR(outcome.reward, reward, 1e-6) << line;
    EXPECT_EQ(outcome.terminated, terminated == 1) << line;
    EXPECT_FALSE(outcome.truncated);
    game.SetState(state);  // Gymnasium computes in float32
    ++steps;
    ends += terminated;
  }
  EXPECT_GE(steps, 400);
  EXPECT_EQ(ends, 3);
}

TEST(MountainCarContinuous, IsCutAtItsLastStepUnlessItIsThere) {
  MountainCarContinuous game;
  for (int step = 1; step <= MountainCarContinuous::kMaxSteps; ++step) {
    const StepOutcome outcome = game.Push(0);
    ASSERT_FALSE(outcome.terminated);
    ASSERT_EQ(outcome.truncated, step == MountainCarContinuous::kMaxSteps) << step;
  }
  game.SetState({0.44f, 0.06f});
  const StepOutcome outcome = game.Push(1);
  EXPECT_TRUE(outcome.terminated && !outcome.truncated);
  EXPECT_DOUBLE_EQ(outcome.reward, 99.9);
}

TEST(MountainCarContinuous, StartsAtRestInTheValleyAndTheSameForTheSameSeed) {
  MountainCarContinuous one, two;
  one.Reset(5);
  two.Push(0);
  two.Reset(5);
  EXPECT_EQ(one.numbers()[0], two.numbers()[0]);
  for (int i = 0; i < 1000; ++i) {
    one.Reset();
    EXPECT_EQ(one.numbers()[1], 0.0f);
    EXPECT_GE(one.numbers()[0], -0.6f);
    EXPECT_LE(one.numbers()[0], -0.4f);
  }
}

}  // namespace
}  // namespace murmurate
