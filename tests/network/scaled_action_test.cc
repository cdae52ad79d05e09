// ActionHead of a scaled model: every box is played and recorded as -1 to 1 is.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "shared/inference/action_head.h"

namespace murmurate {
namespace {

using Mode = ActSettings::Mode;

float Number(std::int32_t word) { return std::bit_cast<float>(word); }
std::int32_t Bits(float x) { return std::bit_cast<std::int32_t>(x); }

/// The same outputs and the same draws, in a box of -1 to 1 and in others.
TEST(ScaledAction, EveryBoxIsPlayedAsPlusMinusOneIsUpToItsPlaceAndSize) {
  const ActionHead unit{ActionLayout(Box({3}, -1, 1))};
  const float means[] = {0.0f, 0.3f, -0.9f}, deviations[] = {0.0f, -1.0f, -3.0f};
  const ActionHead::Row row{means, deviations, nullptr};
  for (const auto& [low, high] : {std::pair{0.0f, 100.0f}, std::pair{-0.01f, 0.01f},
                                  std::pair{-1000.0f, 1000.0f}, std::pair{20.0f, 20.5f}}) {
    const ActionHead head{ActionLayout(Box({3}, low, high), {.scaled = true})};
    for (const Mode mode : {Mode::kSample, Mode::kGreedy, Mode::kUniform}) {
      Random one(3), other(3);
      for (int draw = 0; draw < 200; ++draw) {
        std::int32_t expected[3], expected_game[3], action[3], game[3];
        const float log_prob = unit.Choose(row, {.mode = mode}, one, expected);
        EXPECT_EQ(Bits(head.Choose(row, {.mode = mode}, other, action)), Bits(log_prob));
        EXPECT_EQ(Bits(head.LogProbability(row, {.mode = mode}, action)),
                  Bits(unit.LogProbability(row, {.mode = mode}, expected)));
        unit.ToGame(expected, expected_game);
        head.ToGame(action, game);
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(action[i], expected[i]);
          const double place = (low + high) / 2.0 + Number(expected_game[i]) * (high - low) / 2.0;
          EXPECT_NEAR(Number(game[i]), place, 2e-7 * (std::abs(low) + std::abs(high)));
          EXPECT_TRUE(Number(game[i]) >= low && Number(game[i]) <= high);
        }
      }
    }
  }
}

/// A uniform choice in a box of volume V has the density 1 / V in the game's units.
TEST(ScaledAction, ADensityInTheGamesUnitsBecomesOneOfTheSamples) {
  const Space space = Dict({{"a", Discrete(3)}, {"b", Box({2}, {0, -5}, {100, 5})}});
  const double volume = std::log(100.0 * 10.0);
  for (const ContinuousSettings how :
       {ContinuousSettings{.scaled = true}, ContinuousSettings{.squashed = true}}) {
    const ActionHead head{ActionLayout(space, how)};
    Random random(1);
    std::int32_t action[3];
    const float uniform = head.ChooseUniform(nullptr, random, action);
    EXPECT_NEAR(-std::log(3.0) - volume + head.LogUnit(), uniform, 1e-5);
  }
  EXPECT_EQ(ActionHead{ActionLayout(space)}.LogUnit(), 0.0);
  EXPECT_EQ(ActionHead{ActionLayout(Discrete(4))}.LogUnit(), 0.0);
}

TEST(ScaledAction, OnlyNumbersWithABoxUpToAMillionWideAreScaled) {
  const Space space = Box({3}, {0, -1e6f, -5e5f}, {100, 1e6f, 5e5f});
  const ActionHead head{ActionLayout(space, {.scaled = true})};
  const std::int32_t action[] = {Bits(0.5f), Bits(0.5f), Bits(0.5f)};
  std::int32_t game[3];
  head.ToGame(action, game);
  EXPECT_EQ(Number(game[0]), 75.0f);    // 50 + 50 / 2
  EXPECT_EQ(Number(game[1]), 0.5f);     // 2e6 wide: as it is
  EXPECT_EQ(Number(game[2]), 250'000);  // 5e5 / 2
  EXPECT_TRUE(ScalesActions(space));
  for (const Space& other : {Box({2}), Box({2}, -1, 1), Box({1}, -3e38f, 3e38f), Discrete(3),
                             Box({1}, 0, std::numeric_limits<float>::denorm_min())})
    EXPECT_FALSE(ScalesActions(other));
}

TEST(ScaledAction, WhatTheGameDidInItsBoxIsRecordedInThePolicysUnits) {
  const ActionHead head{ActionLayout(Box({3}, 0, 100), {.scaled = true})};
  const std::int32_t chosen[] = {Bits(1.5f), Bits(0.2f), Bits(0.2f)};
  std::int32_t game[3], action[3];
  head.ToGame(chosen, game);
  EXPECT_EQ(Number(game[0]), 100.0f);
  game[1] = Bits(25.0f);
  game[2] = Bits(-7.0f);  // outside: the end counts
  head.FromGame(game, chosen, action);
  EXPECT_EQ(Number(action[0]), 1.5f);  // left alone
  EXPECT_EQ(Number(action[1]), -0.5f);
  EXPECT_EQ(Number(action[2]), -1.0f);
}

}  // namespace
}  // namespace murmurate
