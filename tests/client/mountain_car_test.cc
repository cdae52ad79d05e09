#include "client/environments/mountain_car.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/source_file.h"

namespace murmurate {
namespace {

TEST(MountainCar, MovesAsGymnasiumsDoes) {
  std::ifstream file(SourceFile("tests/fixtures/gymnasium_mountain_car.txt"));
  ASSERT_TRUE(file.is_open());
  MountainCar game;
  int steps = 0, ends = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::array<double, 2> state;
    if (line.starts_with("start")) {
      std::string start;
      words >> start >> state[0] >> state[1];
      game.SetState(state);
      continue;
    }
    int action = 0, terminated = 0;
    double reward = 0;
    words >> action >> state[0] >> state[1] >> reward >> terminated;
    const StepOutcome outcome = game.Step(action);
    for (int i = 0; i < 2; ++i) {
      EXPECT_NEAR(game.state()[i], state[i], 1e-6) << line;
      EXPECT_FLOAT_EQ(game.numbers()[i], static_cast<float>(state[i])) << line;
    }
    EXPECT_EQ(outcome.reward, reward);
    EXPECT_EQ(outcome.terminated, terminated == 1) << line;
    EXPECT_FALSE(outcome.truncated);
    ++steps;
    ends += terminated;
  }
  EXPECT_GE(steps, 400);
  EXPECT_EQ(ends, 2);
}

TEST(MountainCar, IsCutAtItsTwoHundredthStepUnlessItIsThere) {
  MountainCar game;
  for (int step = 1; step <= 200; ++step) {
    const StepOutcome outcome = game.Push(1);
    ASSERT_FALSE(outcome.terminated);
    ASSERT_EQ(outcome.truncated, step == 200) << step;
  }
  game.SetState({-0.4726076625357092, 0});  // Gymnasium needs 101 steps from here
  int steps = 0;
  for (StepOutcome outcome; !outcome.terminated; ++steps) {
    outcome = game.Push(game.state()[1] > 0 ? 2 : 0);
    ASSERT_FALSE(outcome.truncated);
  }
  EXPECT_EQ(steps, 101);
}

TEST(MountainCar, StartsAtRestInTheValleyAndTheSameForTheSameSeed) {
  MountainCar one, two;
  one.Reset(5);
  two.Push(0);
  two.Reset(5);
  EXPECT_EQ(one.state(), two.state());
  double least = 1, most = -1;
  for (int i = 0; i < 1000; ++i) {
    one.Reset();
    EXPECT_EQ(one.state()[1], 0);
    least = std::min(least, one.state()[0]);
    most = std::max(most, one.state()[0]);
  }
  EXPECT_GE(least, -0.6);
  EXPECT_LT(least, -0.599);
  EXPECT_LE(most, -0.4);
  EXPECT_GT(most, -0.401);
}

}  // namespace
}  // namespace murmurate
