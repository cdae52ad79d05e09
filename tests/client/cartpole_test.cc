#include "client/environments/cartpole.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "tests/source_file.h"

namespace murmurate {
namespace {

TEST(CartPole, MovesAsGymnasiumsDoes) {
  std::ifstream file(SourceFile("tests/fixtures/gymnasium_cartpole.txt"));
  ASSERT_TRUE(file.is_open());
  CartPole game;
  int steps = 0, ends = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    std::array<double, 4> state;
    if (line.starts_with("start")) {
      std::string start;
      words >> start >> state[0] >> state[1] >> state[2] >> state[3];
      game.SetState(state);
      continue;
    }
    int action = 0, terminated = 0;
    double reward = 0;
    words >> action >> state[0] >> state[1] >> state[2] >> state[3] >> reward >> terminated;
    const StepOutcome outcome = game.Step(action);
    for (int i = 0; i < 4; ++i) EXPECT_NEAR(game.state()[i], state[i], 1e-6) << line;
    EXPECT_EQ(outcome.reward, reward);
    EXPECT_EQ(outcome.terminated, terminated == 1) << line;
    EXPECT_FALSE(outcome.truncated);
    ++steps;
    ends += terminated;
  }
  EXPECT_GE(steps, 100);
  EXPECT_GE(ends, 4);
}

TEST(CartPole, IsCutAtItsFiveHundredthStepAndNotBefore) {
  CartPole game;
  for (int step = 1; step <= 500; ++step) {
    const auto [x, x_dot, theta, theta_dot] = game.state();
    const StepOutcome outcome = game.Step(theta + 0.3 * theta_dot + 0.02 * x + 0.05 * x_dot > 0);
    ASSERT_FALSE(outcome.terminated) << step;
    ASSERT_EQ(outcome.truncated, step == 500) << step;
  }
  game.Reset();
  EXPECT_FALSE(game.Step(0).truncated);
}

TEST(CartPole, StartsWithinFiveHundredthsAndTheSameForTheSameSeed) {
  CartPole one, two;
  one.Reset(5);
  two.Reset(5);
  EXPECT_EQ(one.state(), two.state());
  double least = 1, most = -1;
  for (int i = 0; i < 1000; ++i) {
    one.Reset();
    for (const double x : one.state()) {
      least = std::min(least, x);
      most = std::max(most, x);
    }
  }
  EXPECT_GE(least, -0.05);
  EXPECT_LE(most, 0.05);
  EXPECT_LT(least, -0.045);
  EXPECT_GT(most, 0.045);
}

}  // namespace
}  // namespace murmurate
