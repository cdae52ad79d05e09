// ActionHead, the client's half: what is drawn, how often, with which log-probability.
#include "shared/inference/action_head.h"

#include <gtest/gtest.h>

#include <cstring>

#include "server/network/action_head_rows.h"
#include "tests/allocations.h"
#include "tests/network/action_reference.h"

namespace murmurate {
namespace {

using Mode = ActSettings::Mode;
constexpr int kDraws = 20'000;

float Number(std::int32_t word) { return std::bit_cast<float>(word); }
std::int32_t Bits(float x) { return std::bit_cast<std::int32_t>(x); }

/// Pearson's statistic of counts against expected probabilities.
double ChiSquare(const std::vector<int>& count, const std::vector<double>& probability) {
  double all = 0, sum = 0;
  for (const int c : count) all += c;
  for (std::size_t j = 0; j < count.size(); ++j) {
    const double expected = all * probability[j];
    if (expected == 0) {
      EXPECT_EQ(count[j], 0) << j;
      continue;
    }
    sum += (count[j] - expected) * (count[j] - expected) / expected;
  }
  return sum;
}

/// What one run in a thousand exceeds, for 1 to 9 degrees of freedom (any table).
constexpr double kOneInThousand[] = {0,     10.83, 13.82, 16.27, 18.47,
                                     20.52, 22.46, 24.32, 26.12, 27.88};

/// Which tenth of a standard normal a number falls into.
int Tenth(double z) { return std::min(9, static_cast<int>(5 * std::erfc(-z / std::sqrt(2.0)))); }

TEST(ActionHead, OnePlainDiscreteIsChooseActionBitForBit) {
  Random numbers(5);
  for (const int n : {2, 3, 18, 100}) {
    const ActionHead head{ActionLayout(Discrete(n))};
    const std::vector<std::uint8_t> all(n, 1);
    Random one(9), other(9), masked(9);
    for (int i = 0; i < 500; ++i) {
      std::vector<float> logits(n);
      for (float& x : logits) x = static_cast<float>(3 * numbers.Normal());
      const ActSettings settings{
          .mode = std::array{Mode::kSample, Mode::kGreedy, Mode::kEpsilon, Mode::kUniform}[i % 4],
          .epsilon = 0.3f,
          .temperature = i % 3 == 0 ? 2.0f : 1.0f};
      const ActionChoice expected = ChooseAction(logits, settings, one);
      std::int32_t action = -1;
      const float log_prob = head.Choose({.outputs = logits.data()}, settings, other, &action);
      ASSERT_EQ(action, expected.action);
      ASSERT_EQ(Bits(log_prob), Bits(expected.log_prob));
      const ActionHead::Row row{.outputs = logits.data(), .mask = all.data()};
      ASSERT_EQ(Bits(head.Choose(row, settings, masked, &action)), Bits(expected.log_prob));
      ASSERT_EQ(action, expected.action);
    }
  }
}

TEST(ActionHead, TheLogProbabilityIsThatOfTheReferenceAndOfTheLearner) {
  for (const ActionLayout& layout : ManyLayouts()) {
    const ActionHead head(layout);
    const ActionHeadRows rows(layout);
    Random random(4);
    for (int i = 0; i < 200; ++i) {
      const ActionBatch batch(layout, 1, i % 2 == 1, i);
      const ActionHead::Row row{batch.outputs.data(), batch.log_deviations.data(),
                                batch.mask.data()};
      const std::vector<double> x(batch.outputs.begin(), batch.outputs.end());
      const std::vector<double> s(batch.log_deviations.begin(), batch.log_deviations.end());
      std::vector<std::int32_t> action(layout.words());
      for (const float temperature : {1.0f, 2.5f}) {
        for (const Mode mode : {Mode::kSample, Mode::kGreedy}) {
          const ActSettings settings{.mode = mode, .temperature = temperature};
          const float got = head.Choose(row, settings, random, action.data());
          ASSERT_TRUE(layout.CheckAction(action.data(), batch.mask.data()).ok());
          const double expected = ReferenceLikelihood(layout, x.data(), s.data(), action.data(),
                                                      batch.mask.data(), temperature)
                                      .log_prob;
          ASSERT_NEAR(got, expected, 1e-5 + 3e-6 * std::abs(expected));
          ASSERT_NEAR(head.LogProbability(row, settings, action.data()), got, 1e-5);
          if (temperature != 1.0f) continue;
          float learner = 0;
          rows.Evaluate({1, row.outputs, row.log_deviations, action.data(), row.mask}, &learner,
                        nullptr);
          ASSERT_NEAR(learner, got, 1e-5);
        }
      }
    }
  }
}

TEST(ActionHead, VariablesAreDrawnByTheirProbabilitiesAndIndependently) {
  const ActionHead head{ActionLayout(Dict({{"a", MultiDiscrete({2, 3})}, {"b", MultiBinary(1)}}))};
  const std::vector<float> x = {0.5f, -0.5f, 1, 0, -1, 0.7f};
  const std::vector<std::uint8_t> mask = {1, 1, 1, 0, 1};
  const double p = 1 / (1 + std::exp(-1.0)), q = 1 / (1 + std::exp(-2.0));
  const double on = 1 / (1 + std::exp(-0.7));
  std::vector<double> expected;
  for (const double a : {p, 1 - p})
    for (const double b : {q, 0.0, 1 - q})
      for (const double c : {1 - on, on}) expected.push_back(a * b * c);
  std::vector<int> count(12);
  Random random(1);
  std::int32_t action[3];
  for (int i = 0; i < kDraws; ++i) {
    head.Choose({.outputs = x.data(), .mask = mask.data()}, {}, random, action);
    ++count[action[0] * 6 + action[1] * 2 + action[2]];
  }
  EXPECT_LT(ChiSquare(count, expected), kOneInThousand[7]);
}

TEST(ActionHead, ForbiddenChoicesAreNeverDrawnUnderAnySetting) {
  const ActionLayout layout(MultiDiscrete({3, 4}));
  const ActionHead head(layout);
  const std::vector<float> x = {5, 0, 1, 0, 9, 0, 1};
  const std::vector<std::uint8_t> mask = {0, 1, 1, 1, 0, 0, 1};
  Random random(1);
  std::int32_t action[2];
  for (const Mode mode : {Mode::kSample, Mode::kGreedy, Mode::kEpsilon, Mode::kUniform}) {
    for (const float epsilon : {0.0f, 0.5f, 1.0f}) {
      for (int i = 0; i < 2000; ++i) {
        const float log_prob = head.Choose({.outputs = x.data(), .mask = mask.data()},
                                           {.mode = mode, .epsilon = epsilon}, random, action);
        ASSERT_TRUE(layout.CheckAction(action, mask.data()).ok());
        ASSERT_TRUE(std::isfinite(log_prob));
      }
    }
  }
  head.Choose({.outputs = x.data(), .mask = mask.data()}, {.mode = Mode::kGreedy}, random, action);
  EXPECT_EQ(action[0], 2);
  EXPECT_EQ(action[1], 3);
}

TEST(ActionHead, EpsilonAndUniformSpreadOverTheAllowedChoices) {
  const ActionHead head{ActionLayout(MultiDiscrete({4, 2}))};
  const std::vector<float> x = {0, 3, 1, 9, 0, 1};
  const std::vector<std::uint8_t> mask = {1, 1, 1, 0, 1, 1};
  const ActionHead::Row row{.outputs = x.data(), .mask = mask.data()};
  const ActSettings settings{.mode = Mode::kEpsilon, .epsilon = 0.3f};
  const double first[] = {0.1, 0.8, 0.1, 0}, second[] = {0.15, 0.85};
  std::vector<int> count(8), uniform(8);
  std::vector<double> expected, flat = {1, 1, 1, 1, 1, 1, 0, 0};
  for (const double a : first)
    for (const double b : second) expected.push_back(a * b);
  for (double& share : flat) share /= 6;
  Random random(2);
  std::int32_t action[2];
  for (int i = 0; i < kDraws; ++i) {
    const float log_prob = head.Choose(row, settings, random, action);
    ASSERT_NEAR(log_prob, std::log(first[action[0]] * second[action[1]]), 1e-5);
    ++count[action[0] * 2 + action[1]];
    ASSERT_NEAR(head.ChooseUniform(mask.data(), random, action), -std::log(6.0), 1e-6);
    ++uniform[action[0] * 2 + action[1]];
  }
  EXPECT_LT(ChiSquare(count, expected), kOneInThousand[5]);
  EXPECT_LT(ChiSquare(uniform, flat), kOneInThousand[5]);
}

TEST(ActionHead, AMaskThatForbidsEverythingStillGivesAnAction) {
  const ActionHead head{ActionLayout(Discrete(3))};
  const std::vector<float> x = {0, 1, 2};
  const std::vector<std::uint8_t> none(3);
  Random random(1);
  std::int32_t action = -1;
  for (const Mode mode : {Mode::kSample, Mode::kGreedy, Mode::kEpsilon, Mode::kUniform}) {
    const float log_prob = head.Choose({.outputs = x.data(), .mask = none.data()},
                                       {.mode = mode, .epsilon = 0.5f}, random, &action);
    EXPECT_TRUE(std::isfinite(log_prob));
    EXPECT_TRUE(action >= 0 && action < 3);
  }
}

TEST(ActionHead, GaussianSamplesFollowMeanDeviationAndTemperature) {
  const ActionHead head{ActionLayout(Box({2}), {.state_dependent_deviation = true})};
  const std::vector<float> x = {1, -3, std::log(0.5f), std::log(2.0f)};
  for (const float temperature : {1.0f, 4.0f}) {
    Random random(3);
    std::vector<int> first(10), second(10);
    std::int32_t action[2];
    for (int i = 0; i < kDraws; ++i) {
      head.Choose({.outputs = x.data()}, {.temperature = temperature}, random, action);
      const double root = std::sqrt(temperature);
      ++first[Tenth((Number(action[0]) - 1) / (0.5 * root))];
      ++second[Tenth((Number(action[1]) + 3) / (2 * root))];
    }
    const std::vector<double> tenths(10, 0.1);
    EXPECT_LT(ChiSquare(first, tenths), kOneInThousand[9]);
    EXPECT_LT(ChiSquare(second, tenths), kOneInThousand[9]);
  }
}

TEST(ActionHead, UniformNumbersFillTheirBounds) {
  const Space box = Box({1}, -1, 3);
  const ActionHead clipped{ActionLayout(box)}, squashed{ActionLayout(box, {.squashed = true})};
  const ActionHead free{ActionLayout(Box({1}))};
  Random random(6);
  std::vector<int> plain(10), through_tanh(10), normal(10);
  std::int32_t action = 0, game = 0;
  for (int i = 0; i < kDraws; ++i) {
    EXPECT_NEAR(clipped.ChooseUniform(nullptr, random, &action), -std::log(4.0), 1e-6);
    ++plain[static_cast<int>((Number(action) + 1) * 2.5)];
    EXPECT_NEAR(squashed.ChooseUniform(nullptr, random, &action), -std::log(2.0), 1e-6);
    squashed.ToGame(&action, &game);
    ++through_tanh[std::min(9, static_cast<int>((Number(game) + 1) * 2.5))];
    const float log_prob = free.ChooseUniform(nullptr, random, &action);
    const float z = Number(action);
    EXPECT_NEAR(log_prob, -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi), 1e-5);
    ++normal[Tenth(z)];
  }
  const std::vector<double> tenths(10, 0.1);
  EXPECT_LT(ChiSquare(plain, tenths), kOneInThousand[9]);
  EXPECT_LT(ChiSquare(through_tanh, tenths), kOneInThousand[9]);
  EXPECT_LT(ChiSquare(normal, tenths), kOneInThousand[9]);
}

TEST(ActionHead, TheGameGetsTheSampleClippedOrSquashedAndTheRecordKeepsIt) {
  const Space space =
      Dict({{"a", Discrete(5)}, {"b", Box({2}, {-1, 0}, {1, 10})}, {"c", MultiBinary(1)}});
  const std::int32_t action[] = {4, Bits(-2.5f), Bits(0.5f), 1};
  std::int32_t game[4];
  ActionHead(ActionLayout(space)).ToGame(action, game);
  EXPECT_EQ(game[0], 4);
  EXPECT_EQ(Number(game[1]), -1.0f);
  EXPECT_EQ(Number(game[2]), 0.5f);
  EXPECT_EQ(game[3], 1);
  const ActionHead squashed(ActionLayout(space, {.squashed = true}));
  squashed.ToGame(action, game);
  EXPECT_NEAR(Number(game[1]), std::tanh(-2.5), 1e-6);
  EXPECT_NEAR(Number(game[2]), 5 * (std::tanh(0.5) + 1), 1e-5);
  for (const float u : {-3e38f, -50.0f, 50.0f, 3e38f}) {
    const std::int32_t far[] = {0, Bits(u), Bits(u), 0};
    squashed.ToGame(far, game);
    EXPECT_EQ(Number(game[1]), u < 0 ? -1.0f : 1.0f);
    EXPECT_EQ(Number(game[2]), u < 0 ? 0.0f : 10.0f);
  }
  std::int32_t free = 0;
  ActionHead(ActionLayout(Box({1}))).ToGame(&action[1], &free);
  EXPECT_EQ(Number(free), -2.5f);
}

TEST(ActionHead, ExtremeOutputsGiveAPlayableActionAndAFiniteLogProbability) {
  for (const ActionLayout& layout : ManyLayouts()) {
    const ActionHead head(layout);
    Random random(8);
    for (const float size : {1e4f, -1e4f, 80.0f}) {
      std::vector<float> x(layout.outputs()), s(layout.free_deviations(), size);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = i % 2 ? size : -size;
      std::vector<std::int32_t> action(layout.words());
      for (int i = 0; i < 20; ++i) {
        const float log_prob =
            head.Choose({x.data(), s.data(), nullptr}, {}, random, action.data());
        EXPECT_TRUE(std::isfinite(log_prob));
        EXPECT_TRUE(layout.CheckAction(action.data()).ok());
      }
    }
  }
}

TEST(ActionHead, SettingsThatTheSpaceCannotFollowAreNamed) {
  const ActionLayout choices(Discrete(2)), numbers(Box({1}));
  EXPECT_TRUE(CheckActSettings(choices, {.mode = Mode::kEpsilon, .epsilon = 1}).ok());
  EXPECT_TRUE(CheckActSettings(numbers, {.mode = Mode::kUniform}).ok());
  EXPECT_FALSE(CheckActSettings(numbers, {.mode = Mode::kEpsilon}).ok());
  EXPECT_FALSE(CheckActSettings(numbers, {.mode = Mode::kGaussian}).ok());
  EXPECT_FALSE(CheckActSettings(choices, {.temperature = 0}).ok());
  EXPECT_FALSE(CheckActSettings(choices, {.epsilon = 1.5f}).ok());
  EXPECT_FALSE(CheckActSettings(choices, {.mode = static_cast<Mode>(9)}).ok());
}

TEST(ActionHead, UnderEverySettingTheLogProbabilityIsTheOneThatChooseGave) {
  for (const ActionLayout& layout : ManyLayouts()) {
    const ActionHead head(layout);
    Random random(11);
    std::vector<std::int32_t> action(layout.words());
    for (int i = 0; i < 100; ++i) {
      const ActionBatch batch(layout, 1, i % 2 == 1, i);
      const ActionHead::Row row{batch.outputs.data(), batch.log_deviations.data(),
                                batch.mask.data()};
      for (const ActSettings settings : {ActSettings{.mode = Mode::kUniform},
                                         ActSettings{.mode = Mode::kEpsilon, .epsilon = 0.3f}}) {
        if (!CheckActSettings(layout, settings).ok()) continue;
        const float chosen = head.Choose(row, settings, random, action.data());
        EXPECT_NEAR(head.LogProbability(row, settings, action.data()), chosen,
                    1e-5 + 1e-5 * std::abs(chosen));
      }
    }
  }
}

TEST(ActionHead, WhatNoSettingDrawsHasTheLeastProbability) {
  const ActionHead head{ActionLayout(Discrete(3))};
  const std::vector<float> x = {1, 2, 0};
  const ActSettings greedy{.mode = Mode::kEpsilon, .epsilon = 0};
  std::int32_t action = 0;
  EXPECT_EQ(head.LogProbability({.outputs = x.data()}, greedy, &action), kForbiddenLogProbability);
  const std::vector<std::uint8_t> mask = {0, 1, 1};
  EXPECT_EQ(head.LogProbability({.outputs = x.data(), .mask = mask.data()}, {}, &action),
            kForbiddenLogProbability);
  const ActionHead bounded{ActionLayout(Box({1}, -1, 3))};
  const std::int32_t outside = std::bit_cast<std::int32_t>(4.0f);
  EXPECT_EQ(bounded.LogProbability({}, {.mode = Mode::kUniform}, &outside),
            kForbiddenLogProbability);
}

TEST(ActionHead, WhatTheGameDidIsRecordedAsASampleThatDoesIt) {
  for (const bool squashed : {false, true}) {
    const ActionHead head{ActionLayout(Box({4}, -2, 6), {.squashed = squashed})};
    const float done[] = {1.0f, 6.0f, -2.0f, 2.0f};
    std::int32_t game[4], action[4], again[4];
    std::copy_n(reinterpret_cast<const std::int32_t*>(done), 4, game);
    head.FromGame(game, nullptr, action);
    head.ToGame(action, again);
    for (int i = 0; i < 4; ++i)
      EXPECT_NEAR(std::bit_cast<float>(again[i]), done[i], 1e-5) << squashed << i;
    // tanh(u) = (2 - -2) / 4 - 1 = 0; (1 - -2) / 4 - 1 = -0.25
    EXPECT_NEAR(std::bit_cast<float>(action[3]), squashed ? 0.0 : 2.0, 1e-6);
    EXPECT_NEAR(std::bit_cast<float>(action[0]), squashed ? std::atanh(-0.25) : 1.0, 1e-6);
  }
}

TEST(ActionHead, ANumberThatTheGameLeftAloneKeepsTheSampleBeyondItsBounds) {
  const ActionHead head{ActionLayout(Box({2}, -1, 1))};
  const std::int32_t chosen[] = {std::bit_cast<std::int32_t>(2.5f),
                                 std::bit_cast<std::int32_t>(0.5f)};
  std::int32_t game[2], action[2];
  head.ToGame(chosen, game);
  EXPECT_EQ(std::bit_cast<float>(game[0]), 1.0f);
  game[1] = std::bit_cast<std::int32_t>(-0.25f);
  head.FromGame(game, chosen, action);
  EXPECT_EQ(std::bit_cast<float>(action[0]), 2.5f);
  EXPECT_EQ(std::bit_cast<float>(action[1]), -0.25f);
}

TEST(ActionHead, NothingAllocatesAfterConstruction) {
  const ActionLayout layout = ManyLayouts().back();
  const ActionHead head(layout);
  const ActionBatch batch(layout, 1, true, 1);
  std::vector<std::int32_t> action(layout.words());
  Random random(1);
  const ActionHead::Row row{batch.outputs.data(), nullptr, batch.mask.data()};
  const std::uint64_t before = Allocations();
  for (const Mode mode : {Mode::kSample, Mode::kGreedy, Mode::kUniform}) {
    head.Choose(row, {.mode = mode}, random, action.data());
    head.LogProbability(row, {.mode = mode}, action.data());
  }
  head.ToGame(action.data(), action.data());
  head.FromGame(action.data(), action.data(), action.data());
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace murmurate
