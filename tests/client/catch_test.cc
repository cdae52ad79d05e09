#include "client/environments/catch.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace murmurate {
namespace {

int Ball(const Catch& game, int row) {
  const auto first = game.pixels().begin() + row * 5;
  return static_cast<int>(std::find(first, first + 5, 255) - first);
}

/// Plays an episode: `move` for each of its nine decisions.
template <typename Move>
double Play(Catch& game, const Move& move) {
  StepOutcome outcome;
  for (int step = 0; step < 9; ++step) {
    EXPECT_FALSE(outcome.terminated) << step;
    EXPECT_EQ(outcome.reward, 0);
    outcome = game.Step(move(step));
    EXPECT_FALSE(outcome.truncated);
  }
  EXPECT_TRUE(outcome.terminated);
  return outcome.reward;
}

TEST(Catch, ShowsTheBallFallingAndThePaddleMoving) {
  Catch game;
  EXPECT_EQ(game.spaces().ToText(), "observation uint8 10 5 1\naction discrete 3\n");
  const int column = Ball(game, 0);
  std::array<std::uint8_t, 50> expected{};
  expected[static_cast<std::size_t>(column)] = expected[9 * 5 + 2] = 255;
  EXPECT_TRUE(std::ranges::equal(game.pixels(), expected));
  constexpr int kActions[] = {0, 0, 0, 1, 2, 2, 2, 2};  // into the left wall, a rest, to the right
  constexpr int kPaddle[] = {1, 0, 0, 0, 1, 2, 3, 4};
  for (int step = 0; step < 8; ++step) {
    game.Step(kActions[step]);
    expected.fill(0);
    expected[static_cast<std::size_t>((step + 1) * 5 + column)] = 255;
    expected[static_cast<std::size_t>(9 * 5 + kPaddle[step])] = 255;
    ASSERT_TRUE(std::ranges::equal(game.pixels(), expected)) << step;
  }
}

TEST(Catch, RewardsTheCatchAndPunishesTheMiss) {
  Catch game;
  for (int episode = 0; episode < 50; ++episode) {
    game.Reset();
    const int column = Ball(game, 0);
    const auto under = [&](int step) {
      return step < std::abs(column - 2) ? (column > 2 ? 2 : 0) : 1;
    };
    EXPECT_EQ(Play(game, under), 1) << column;
    game.Reset();
    const double expected = Ball(game, 0) == 0 ? 1 : -1;
    EXPECT_EQ(Play(game, [](int) { return 0; }), expected);
  }
}

TEST(Catch, TheBallComesInEveryColumnAndTheSameForTheSameSeed) {
  Catch one, two;
  int times[5] = {};
  one.Reset(11);
  two.Step(0);
  two.Reset(11);
  for (int episode = 0; episode < 5000; ++episode) {
    ASSERT_TRUE(std::ranges::equal(one.pixels(), two.pixels()));
    ++times[Ball(one, 0)];
    one.Reset();
    two.Reset();
  }
  for (const int n : times) EXPECT_NEAR(n, 1000, 120);  // over four standard deviations of 28
}

}  // namespace
}  // namespace murmurate
