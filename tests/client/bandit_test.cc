#include "client/environments/bandit.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

TEST(Bandit, EachArmHasItsMeanAndNoiseOfOne) {
  Bandit game;
  game.Reset(2);
  for (int arm = 0; arm < Bandit::kArms; ++arm) {
    double sum = 0, squares = 0;
    constexpr int kPulls = 10000;
    for (int i = 0; i < kPulls; ++i) {
      const StepOutcome outcome = game.Step(arm);
      EXPECT_TRUE(outcome.terminated);
      sum += outcome.reward;
      squares += outcome.reward * outcome.reward;
    }
    const double mean = sum / kPulls;
    EXPECT_NEAR(mean, game.means()[static_cast<std::size_t>(arm)], 0.05);
    EXPECT_NEAR(squares / kPulls - mean * mean, 1, 0.08);
  }
}

TEST(Bandit, AllPlayersOfAGamePullTheSameArms) {
  Bandit one(7), two(7), other(8);
  one.Reset(1);
  two.Reset(2);
  EXPECT_EQ(one.means(), two.means());
  EXPECT_NE(one.means(), other.means());
  EXPECT_NE(one.Step(0).reward, two.Step(0).reward);
  two.Reset(1);
  one.Reset(1);
  EXPECT_EQ(one.Step(3).reward, two.Step(3).reward);
}

}  // namespace
}  // namespace murmurate
