#include "client/environments/acrobot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/source_file.h"

namespace murmurate {
namespace {

TEST(Acrobot, SwingsAsGymnasiumsDoes) {
  std::ifstream file(SourceFile("tests/fixtures/gymnasium_acrobot.txt"));
  ASSERT_TRUE(file.is_open());
  Acrobot game;
  int steps = 0, ends = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream words(line);
    Acrobot::State state;
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
  EXPECT_GE(steps, 300);
  EXPECT_EQ(ends, 3);
}

TEST(Acrobot, ShowsAnglesAsCosinesAndSines) {
  Acrobot game;
  game.SetState({0.5, -1.5, 2, -3});
  const float expected[] = {std::cos(0.5f), std::sin(0.5f), std::cos(1.5f), -std::sin(1.5f), 2, -3};
  for (int i = 0; i < 6; ++i) EXPECT_FLOAT_EQ(game.numbers()[i], expected[i]);
}

TEST(Acrobot, IsCutAtItsFiveHundredthStep) {
  Acrobot game;
  game.SetState({});  // at rest: nothing moves
  for (int step = 1; step <= 500; ++step) {
    const StepOutcome outcome = game.Turn(1);
    ASSERT_FALSE(outcome.terminated);
    ASSERT_EQ(outcome.truncated, step == 500) << step;
  }
}

TEST(Acrobot, StartsNearRestAndTheSameForTheSameSeed) {
  Acrobot one, two;
  one.Reset(5);
  two.Turn(0);
  two.Reset(5);
  EXPECT_EQ(one.state(), two.state());
  for (int i = 0; i < 100; ++i) {
    one.Reset();
    for (const double number : one.state()) EXPECT_LE(std::abs(number), 0.1);
  }
}

}  // namespace
}  // namespace murmurate
