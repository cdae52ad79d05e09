#include "client/environments/pendulum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/source_file.h"

namespace murmurate {
namespace {

TEST(Pendulum, MovesAsGymnasiumsDoes) {
  std::ifstream file(SourceFile("tests/fixtures/gymnasium_pendulum.txt"));
  ASSERT_TRUE(file.is_open());
  Pendulum game;
  Action action(game.spaces().action);
  int steps = 0;
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
    int terminated = 0;
    double reward = 0;
    words >> action.numbers()[0] >> state[0] >> state[1] >> reward >> terminated;
    const StepOutcome outcome = game.Step(action);
    for (int i = 0; i < 2; ++i) EXPECT_NEAR(game.state()[i], state[i], 1e-6) << line;
    EXPECT_NEAR(outcome.reward, reward, 1e-6) << line;
    EXPECT_EQ(outcome.terminated, terminated == 1);
    EXPECT_FLOAT_EQ(game.numbers()[0], static_cast<float>(std::cos(state[0])));
    EXPECT_FLOAT_EQ(game.numbers()[1], static_cast<float>(std::sin(state[0])));
    EXPECT_FLOAT_EQ(game.numbers()[2], static_cast<float>(state[1]));
    ++steps;
  }
  EXPECT_EQ(steps, 360);
}

TEST(Pendulum, IsCutAtItsTwoHundredthStepAndNotBefore) {
  Pendulum game;
  for (int episode = 0; episode < 2; ++episode) {
    game.Reset();
    for (int step = 1; step <= 200; ++step) {
      const StepOutcome outcome = game.Turn(0.5);
      ASSERT_FALSE(outcome.terminated);
      ASSERT_EQ(outcome.truncated, step == 200) << step;
    }
  }
}

TEST(Pendulum, StartsAnywhereAndTheSameForTheSameSeed) {
  Pendulum one, two;
  one.Reset(5);
  two.Turn(1);
  two.Reset(5);
  EXPECT_EQ(one.state(), two.state());
  double least_angle = 9, most_angle = -9, least_speed = 9, most_speed = -9;
  for (int i = 0; i < 1000; ++i) {
    one.Reset();
    const auto [angle, speed] = one.state();
    least_angle = std::min(least_angle, angle);
    most_angle = std::max(most_angle, angle);
    least_speed = std::min(least_speed, speed);
    most_speed = std::max(most_speed, speed);
  }
  EXPECT_GE(least_angle, -3.141593);
  EXPECT_LT(least_angle, -3.1);
  EXPECT_LE(most_angle, 3.141593);
  EXPECT_GT(most_angle, 3.1);
  EXPECT_GE(least_speed, -1);
  EXPECT_LT(least_speed, -0.98);
  EXPECT_LE(most_speed, 1);
  EXPECT_GT(most_speed, 0.98);
}

TEST(Pendulum, TakesATorqueBetweenMinusTwoAndTwo) {
  EXPECT_EQ(Pendulum().spaces().ToText(),
            "observation float32 3\naction continuous 1 low -2 high 2\n");
}

}  // namespace
}  // namespace murmurate
