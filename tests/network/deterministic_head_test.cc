// ActionHead of a deterministic model: what is recorded is what was played.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "shared/inference/action_head.h"
#include "tests/allocations.h"

namespace murmurate {
namespace {

using Mode = ActSettings::Mode;
using Noise = ActSettings::Noise;
constexpr ContinuousSettings kTanh{.squashed = true, .deterministic = true};
constexpr ContinuousSettings kPlain{.deterministic = true};

float Number(std::int32_t word) { return std::bit_cast<float>(word); }
std::int32_t Bits(float x) { return std::bit_cast<std::int32_t>(x); }

ActionHead TwoWheels(const ContinuousSettings& settings = kTanh) {
  return ActionHead{ActionLayout(Box({2}, {0, -30}, {100, 10}), settings)};
}

TEST(DeterministicHead, HasAnOutputForEachNumberAndNoDeviation) {
  const ActionLayout layout(Dict({{"a", Box({3}, -1, 1)}, {"b", Discrete(4)}}), kTanh);
  EXPECT_EQ(layout.outputs(), 3 + 4);
  EXPECT_EQ(layout.free_deviations(), 0);
  EXPECT_EQ(layout.words(), 4);
}

TEST(DeterministicHead, TheActionIsTanhOfTheOutputAndTheGameGetsItScaledOnce) {
  const ActionHead head = TwoWheels();
  const float outputs[] = {0.5f, -3.0f};
  Random random(1);
  const Random::Words untouched = random.Saved();
  for (const ActSettings settings :
       {ActSettings{.mode = Mode::kGreedy, .sigma = 0.3f, .noise = Noise::kPink},
        ActSettings{.mode = Mode::kSample, .noise = Noise::kPink},
        ActSettings{.mode = Mode::kGaussian, .noise = Noise::kPink}}) {
    std::int32_t action[2], game[2];
    EXPECT_EQ(head.Choose({.outputs = outputs}, settings, random, action), 0.0f);
    EXPECT_NEAR(Number(action[0]), std::tanh(0.5), 1e-7);
    EXPECT_NEAR(Number(action[1]), std::tanh(-3.0), 1e-7);
    head.ToGame(action, game);
    EXPECT_NEAR(Number(game[0]), 50 + 50 * std::tanh(0.5), 1e-5);
    EXPECT_NEAR(Number(game[1]), -10 + 20 * std::tanh(-3.0), 1e-5);
    EXPECT_EQ(head.LogProbability({.outputs = outputs}, settings, action), 0.0f);
    action[0] = Bits(0.4f);
    EXPECT_EQ(head.LogProbability({.outputs = outputs}, settings, action),
              kForbiddenLogProbability);
  }
  EXPECT_EQ(random.Saved(), untouched) << "greedy play draws nothing";
}

TEST(DeterministicHead, WithoutTanhTheOutputIsClipped) {
  const ActionHead head = TwoWheels(kPlain);
  const float outputs[] = {0.25f, 7.0f};
  Random random(1);
  std::int32_t action[2], game[2];
  head.Choose({.outputs = outputs}, {.mode = Mode::kGreedy}, random, action);
  EXPECT_EQ(Number(action[0]), 0.25f);
  EXPECT_EQ(Number(action[1]), 1.0f);
  head.ToGame(action, game);
  EXPECT_EQ(Number(game[0]), 62.5f);
  EXPECT_EQ(Number(game[1]), 10.0f);
}

TEST(DeterministicHead, GaussianNoiseIsAddedAndClippedAndTheProbabilitiesAreThoseOfBoth) {
  const ActionHead head{ActionLayout(Box({1}, -2, 2), kTanh)};
  const float output = 0.9f, action_without = std::tanh(0.9f), sigma = 0.4f;
  const ActSettings settings{.mode = Mode::kGaussian, .sigma = sigma};
  const auto below = [&](double x) {
    return 0.5 * std::erfc((action_without - x) / sigma / std::numbers::sqrt2);
  };
  constexpr int kDraws = 20'000;
  constexpr std::array<double, 5> kBorders = {-0.2, 0.2, 0.5, 0.75, 1.0};
  std::array<int, kBorders.size() + 1> count{};
  Random random(5);
  for (int i = 0; i < kDraws; ++i) {
    std::int32_t action;
    const float log_prob = head.Choose({.outputs = &output}, settings, random, &action);
    const double a = Number(action), z = (a - action_without) / sigma;
    ASSERT_LE(std::abs(a), 1.0);
    const double density = std::exp(-0.5 * z * z) / (sigma * std::sqrt(2 * std::numbers::pi));
    const double expected = a == 1.0 ? 1 - below(1.0) : a == -1.0 ? below(-1.0) : density;
    ASSERT_NEAR(log_prob, std::log(expected), 1e-4);
    ASSERT_EQ(Bits(head.LogProbability({.outputs = &output}, settings, &action)), Bits(log_prob));
    ++count[std::upper_bound(kBorders.begin(), kBorders.end(), a) - kBorders.begin()];
  }
  double statistic = 0, before = 0;
  for (std::size_t i = 0; i < count.size(); ++i) {
    const double until = i < kBorders.size() ? below(kBorders[i]) : 1.0;
    const double share = kDraws * (until - before);
    statistic += (count[i] - share) * (count[i] - share) / share;
    before = until;
  }
  EXPECT_LT(statistic, 20.52);  // 5 degrees of freedom, one run in a thousand
}

TEST(DeterministicHead, FarFromTheActionProbabilitiesAreFinite) {
  const ActionHead head{ActionLayout(Box({1}, -1, 1), kPlain)};
  const ActSettings settings{.mode = Mode::kGaussian, .sigma = 1e-6f};
  for (const float output : {-1e30f, -1.0f, 0.0f, 1e30f}) {
    for (const float number : {-1.0f, -0.5f, 1.0f}) {
      const std::int32_t action = Bits(number);
      const float log_prob = head.LogProbability({.outputs = &output}, settings, &action);
      EXPECT_TRUE(std::isfinite(log_prob)) << output << " " << number;
      EXPECT_GE(log_prob, kForbiddenLogProbability);
    }
  }
}

TEST(DeterministicHead, UniformActionsFillMinusOneToOne) {
  const ActionHead head{ActionLayout(Box({1}, 10, 20), kTanh)};
  Random random(2);
  std::vector<int> count(10);
  for (int i = 0; i < 20'000; ++i) {
    std::int32_t action, game;
    EXPECT_NEAR(head.ChooseUniform(nullptr, random, &action), -std::log(2.0), 1e-6);
    EXPECT_NEAR(head.LogProbability({}, {.mode = Mode::kUniform}, &action), -std::log(2.0), 1e-6);
    ASSERT_TRUE(head.layout().CheckAction(&action).ok());
    head.ToGame(&action, &game);
    ++count[std::min(9, static_cast<int>(Number(game) - 10))];
  }
  double statistic = 0;
  for (const int n : count) statistic += (n - 2000.0) * (n - 2000.0) / 2000.0;
  EXPECT_LT(statistic, 27.88);  // 9 degrees of freedom
}

TEST(DeterministicHead, WhatTheGameDidIsRecordedInUnitsOfTheBox) {
  const ActionHead head = TwoWheels();
  const std::int32_t done[] = {Bits(25.0f), Bits(1000.0f)};
  const std::int32_t chosen[] = {Bits(0.1f), Bits(0.1f)};
  std::int32_t action[2], game[2];
  head.FromGame(done, chosen, action);
  EXPECT_EQ(Number(action[0]), -0.5f);
  EXPECT_EQ(Number(action[1]), 1.0f);
  head.ToGame(chosen, game);
  head.FromGame(game, chosen, action);
  EXPECT_EQ(action[0], chosen[0]);
  EXPECT_EQ(action[1], chosen[1]);
  EXPECT_NEAR(head.LogUnit(), std::log(50.0 * 20.0), 1e-6) << "once, although tanh is in it";
  const ActionHead odd{ActionLayout(Box({1}, -0.3f, 0.7f), kTanh)};
  for (const float end : {-0.3f, 0.7f}) {
    const std::int32_t at_end = Bits(end);
    odd.FromGame(&at_end, nullptr, action);
    EXPECT_TRUE(odd.layout().CheckAction(action).ok()) << Number(action[0]);
  }
}

TEST(DeterministicHead, ABoxIsFilledHoweverWide) {
  const ActionHead head{ActionLayout(Box({1}, -4e6f, 0), kTanh)};
  const std::int32_t action = Bits(-0.5f);
  std::int32_t game;
  head.ToGame(&action, &game);
  EXPECT_EQ(Number(game), -3e6f);
}

TEST(DeterministicHead, OnlyActionsFromMinusOneToOneAreTakenFromOutside) {
  const ActionLayout layout(Box({1}, 0, 100), kTanh);
  for (const float fine : {-1.0f, 0.3f, 1.0f}) {
    const std::int32_t word = Bits(fine);
    EXPECT_TRUE(layout.CheckAction(&word).ok());
  }
  for (const float wrong : {-1.001f, 55.0f, std::nanf(""), INFINITY}) {
    const std::int32_t word = Bits(wrong);
    EXPECT_NE(layout.CheckAction(&word).message().find("outside -1 to 1"), std::string::npos);
  }
}

TEST(DeterministicHead, SigmaIsForDeterministicPoliciesOfNumbersAlone) {
  const ActionLayout numbers(Box({2}, -1, 1), kTanh), sampled(Box({2}, -1, 1));
  const ActionLayout mixed(Dict({{"a", Discrete(2)}, {"b", Box({1}, -1, 1)}}), kTanh);
  const ActSettings gaussian{.mode = Mode::kGaussian, .sigma = 0.1f};
  EXPECT_TRUE(CheckActSettings(numbers, gaussian).ok());
  EXPECT_FALSE(CheckActSettings(sampled, gaussian).ok());
  EXPECT_FALSE(CheckActSettings(mixed, gaussian).ok());
  EXPECT_FALSE(CheckActSettings(ActionLayout(Discrete(2), kTanh), gaussian).ok());
  for (const float sigma : {-0.1f, std::nanf(""), INFINITY})
    EXPECT_FALSE(CheckActSettings(numbers, {.mode = Mode::kGaussian, .sigma = sigma}).ok());
  for (const float alpha : {-1.0f, std::nanf(""), INFINITY})
    EXPECT_FALSE(CheckActSettings(sampled, {.ladder_count = 4, .ladder_alpha = alpha}).ok());
  EXPECT_FALSE(CheckActSettings(sampled, {.noise = static_cast<Noise>(2)}).ok());
  EXPECT_TRUE(CheckActSettings(sampled, {.noise = Noise::kPink}).ok());
}

/// What is drawn is the generator's, and its probability that of a step by itself.
TEST(PinkActions, AreMadeOfTheNumbersOfTheGenerator) {
  const Space space = Dict({{"a", Box({2}, -1, 1)}, {"b", Box({1}, -1, 1)}});
  const ActionHead deterministic{ActionLayout(space, kTanh)};
  const ActionHead squashed{
      ActionLayout(space, {.state_dependent_deviation = true, .squashed = true})};
  const float actions[] = {0.2f, -0.4f, 0.6f};
  const float gaussians[] = {0.2f, -0.4f, -1.0f, 0.5f, 0.6f, 0.0f};  // means, log deviations
  const ActSettings noisy{.mode = Mode::kGaussian, .sigma = 0.3f, .noise = Noise::kPink};
  const ActSettings sampled{.temperature = 4.0f, .noise = Noise::kPink};
  Random one(4), other(4);
  PinkNoise pink(3), twin(3);
  for (int step = 0; step < 200; ++step) {
    std::int32_t words[3];
    if (step == 100) pink.Restart(), twin.Restart();
    if (step % 2 == 0) {
      deterministic.Choose({.outputs = actions}, noisy, one, words, &pink);
      for (const int i : {0, 1, 2}) {
        const float noise = twin.Next(i, 1, other)[0];
        EXPECT_NEAR(Number(words[i]), std::clamp(std::tanh(actions[i]) + 0.3f * noise, -1.0f, 1.0f),
                    1e-6);
      }
      continue;
    }
    const ActionHead::Row row{.outputs = gaussians};
    const float log_prob = squashed.Choose(row, sampled, one, words, &pink);
    EXPECT_EQ(Bits(log_prob), Bits(squashed.LogProbability(row, {.temperature = 4.0f}, words)));
    const float means[] = {0.2f, -0.4f, 0.6f}, log_deviations[] = {-1.0f, 0.5f, 0.0f};
    for (const int i : {0, 1, 2})
      EXPECT_NEAR(Number(words[i]),
                  means[i] + 2 * std::exp(log_deviations[i]) * twin.Next(i, 1, other)[0], 1e-5);
  }
}

TEST(PinkActions, NothingIsAllocatedForThem) {
  const ActionHead head = TwoWheels();
  const float outputs[] = {0.5f, -3.0f};
  const ActSettings settings{.mode = Mode::kGaussian, .sigma = 0.3f, .noise = Noise::kPink};
  Random random(1);
  PinkNoise pink(2);
  std::int32_t action[2];
  const std::uint64_t before = Allocations();
  for (int i = 0; i < 100; ++i) head.Choose({.outputs = outputs}, settings, random, action, &pink);
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace murmurate
