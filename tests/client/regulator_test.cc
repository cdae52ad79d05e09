#include "client/environments/regulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace murmurate {
namespace {

/// The gains of each step and what a position of 1 costs from the start: the Riccati recursion for
/// x' = x + t u with the cost x^2 + u^2 a step.
struct Optimum {
  std::array<double, Regulator::kMaxSteps> gains;
  double cost = 0;
};
Optimum Solve() {
  Optimum optimum{};
  const double t = Regulator::kTimeStep;
  for (int step = Regulator::kMaxSteps - 1; step >= 0; --step) {
    const double gain = t * optimum.cost / (1 + t * t * optimum.cost);
    optimum.gains[step] = gain;
    optimum.cost = 1 + optimum.cost - t * optimum.cost * gain;
  }
  return optimum;
}

/// The return of an episode with the gains multiplied by `factor`; checks what each step says.
double Play(Regulator& game, const Optimum& optimum, double factor) {
  Action action(game.spaces().action);
  double total = 0;
  for (int step = 0; step < Regulator::kMaxSteps; ++step) {
    for (int i = 0; i < Regulator::kCarts; ++i) {
      const double speed = -factor * optimum.gains[step] * game.positions()[i];
      if (factor <= 1) {
        EXPECT_LE(std::abs(speed), 1);
      }
      action.numbers()[i] = static_cast<float>(speed);
    }
    const StepOutcome outcome = game.Step(action);
    EXPECT_FALSE(outcome.terminated);
    EXPECT_EQ(outcome.truncated, step == Regulator::kMaxSteps - 1);
    total += outcome.reward;
  }
  return total;
}

/// The sum of the squared positions.
double Squares(const Regulator& game) {
  const auto& x = game.positions();
  return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
}

TEST(Regulator, TheRiccatiGainsHaveTheReturnThatTheHeaderSays) {
  const Optimum optimum = Solve();
  EXPECT_NEAR(-optimum.cost * Regulator::kCarts / 3, -17.52, 0.005);
  Regulator game;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    game.Reset(seed);
    const double squares = Squares(game);
    const double best = Play(game, optimum, 1);
    EXPECT_NEAR(best, -optimum.cost * squares, 1e-4);
    for (const double factor : {0.0, 0.9, 1.1}) {
      game.Reset(seed);
      const double other = Play(game, optimum, factor);
      EXPECT_LT(other, best);
      if (factor == 0) {
        EXPECT_NEAR(other, -100 * squares, 1e-9);
      }
    }
  }
}

TEST(Regulator, ShowsTheCartsByTheSameWeightsInEveryGame) {
  Regulator one, two;
  one.Reset(3);
  two.Reset(3);
  EXPECT_TRUE(std::ranges::equal(one.numbers(), two.numbers()));
  Action still(one.spaces().action);
  std::ranges::fill(still.numbers(), 0.0f);
  one.Step(still);
  EXPECT_TRUE(std::ranges::equal(one.numbers(), two.numbers()));
  one.Reset();
  EXPECT_FALSE(std::ranges::equal(one.numbers(), two.numbers()));
}

TEST(Regulator, CutsASpeedToItsBounds) {
  Regulator game;
  game.Reset(4);
  const double squares = Squares(game), position = game.positions()[0];
  Action action(game.spaces().action);
  std::ranges::fill(action.numbers(), 0.0f);
  action.numbers()[0] = 5;
  EXPECT_NEAR(game.Step(action).reward, -1 - squares, 1e-12);
  EXPECT_DOUBLE_EQ(game.positions()[0], position + Regulator::kTimeStep);
}

}  // namespace
}  // namespace murmurate
