#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "shared/inference/action_head.h"
#include "shared/inference/policy.h"

namespace murmurate {
namespace {

using Mode = ActSettings::Mode;
constexpr int kDraws = 20'000;

double LogSoftmax(const std::vector<float>& logits, int action, double temperature = 1) {
  double sum = 0;
  for (const float logit : logits) sum += std::exp((double{logit} - logits[action]) / temperature);
  return -std::log(sum);
}

/// Pearson's statistic of kDraws draws against the expected probabilities.
double ChiSquare(const std::vector<float>& logits, const ActSettings& settings,
                 const std::vector<double>& probability) {
  Random random(12345);
  std::vector<int> count(probability.size());
  for (int i = 0; i < kDraws; ++i) ++count[ChooseAction(logits, settings, random).action];
  double sum = 0;
  for (std::size_t j = 0; j < count.size(); ++j) {
    const double expected = kDraws * probability[j];
    sum += (count[j] - expected) * (count[j] - expected) / expected;
  }
  return sum;
}

TEST(ChooseActionTest, SamplesFollowTheSoftmax) {
  const std::vector<float> two = {0.5f, -0.7f}, four = {1.0f, 0.0f, -1.0f, 2.0f};
  std::vector<double> p;
  for (int j = 0; j < 2; ++j) p.push_back(std::exp(LogSoftmax(two, j)));
  EXPECT_LT(ChiSquare(two, {}, p), 10.83);  // 1 degree of freedom, one run in a thousand
  p.clear();
  for (int j = 0; j < 4; ++j) p.push_back(std::exp(LogSoftmax(four, j, 2.0)));
  EXPECT_LT(ChiSquare(four, {.temperature = 2.0f}, p), 16.27);  // 3 degrees
}

TEST(ChooseActionTest, EpsilonGreedyFollowsItsMixture) {
  const ActSettings settings{.mode = Mode::kEpsilon, .epsilon = 0.3f};
  EXPECT_LT(ChiSquare({0, 3, 1}, settings, {0.1, 0.8, 0.1}), 13.82);  // 2 degrees
}

TEST(ChooseActionTest, UniformIgnoresTheLogits) {
  EXPECT_LT(ChiSquare({9, 0, 0, 0}, {.mode = Mode::kUniform}, {0.25, 0.25, 0.25, 0.25}), 16.27);
}

TEST(ChooseActionTest, LogProbabilitiesAreExact) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    std::vector<float> logits(2 + i % 5);
    for (float& logit : logits) logit = 4.0f * static_cast<float>(random.Normal());
    const ActionChoice sample = ChooseAction(logits, {}, random);
    const double expected = LogSoftmax(logits, sample.action);
    EXPECT_NEAR(sample.log_prob, expected, 1e-6 + 1e-7 * std::abs(expected));
    const ActionChoice greedy = ChooseAction(logits, {.mode = Mode::kGreedy}, random);
    EXPECT_EQ(logits[greedy.action], *std::max_element(logits.begin(), logits.end()));
    EXPECT_NEAR(greedy.log_prob, LogSoftmax(logits, greedy.action), 1e-6);
    const ActionChoice warm = ChooseAction(logits, {.temperature = 3.0f}, random);
    EXPECT_NEAR(warm.log_prob, LogSoftmax(logits, warm.action, 3.0), 1e-6);
    const ActionChoice any = ChooseAction(logits, {.mode = Mode::kUniform}, random);
    EXPECT_NEAR(any.log_prob, -std::log(static_cast<double>(logits.size())), 1e-6);
  }
}

TEST(ChooseActionTest, EpsilonLogProbabilityIsThatOfTheMixture) {
  Random random(1);
  const std::vector<float> logits = {0, 2, 1, -1};
  for (int i = 0; i < 200; ++i) {
    const ActionChoice choice =
        ChooseAction(logits, {.mode = Mode::kEpsilon, .epsilon = 0.4f}, random);
    EXPECT_NEAR(choice.log_prob, std::log(choice.action == 1 ? 0.7 : 0.1), 1e-6);
  }
  const ActionChoice never = ChooseAction(logits, {.mode = Mode::kEpsilon}, random);
  EXPECT_EQ(never.action, 1);
  EXPECT_EQ(never.log_prob, 0.0f);
}

TEST(ChooseActionTest, EpsilonSpreadsOverTheAllowedChoicesAlone) {
  const std::vector<float> logits = {9, 0, 1, 2, 5};
  const std::uint8_t mask[] = {0, 1, 1, 0, 1};
  Random random(8);
  for (const float epsilon : {1.0f, 0.25f}) {
    const ActSettings settings{.mode = Mode::kEpsilon, .epsilon = epsilon};
    const double uniform = epsilon / 3, greedy = 1 - epsilon + uniform;
    std::vector<int> count(5);
    for (int i = 0; i < kDraws; ++i) {
      const ActionChoice choice = ChooseAllowed(logits, mask, settings, random);
      EXPECT_NEAR(choice.log_prob, std::log(choice.action == 4 ? greedy : uniform), 1e-6);
      ++count[choice.action];
    }
    EXPECT_EQ(count[0] + count[3], 0);
    double sum = 0;
    for (const int j : {1, 2, 4}) {
      const double expected = kDraws * (j == 4 ? greedy : uniform);
      sum += (count[j] - expected) * (count[j] - expected) / expected;
    }
    EXPECT_LT(sum, 13.82) << epsilon;  // 2 degrees
  }
}

TEST(EpsilonLadder, IsThatOfApeX) {
  const ActSettings apex{.epsilon = 0.4f, .ladder_count = 8, .ladder_alpha = 7.0f};
  EXPECT_FLOAT_EQ(EpsilonOf(apex, 0), 0.4f);
  EXPECT_FLOAT_EQ(EpsilonOf(apex, 1), 0.16f);        // 0.4^(1 + 7 * 1 / 7)
  EXPECT_FLOAT_EQ(EpsilonOf(apex, 7), 0.00065536f);  // 0.4^8
  EXPECT_EQ(EpsilonOf(apex, 8), EpsilonOf(apex, 0));
  EXPECT_EQ(EpsilonOf(apex, 1023), EpsilonOf(apex, 7));
}

TEST(EpsilonLadder, OfNoneOrOneRungIsEpsilon) {
  for (const std::uint32_t count : {0u, 1u}) {
    const ActSettings settings{.epsilon = 0.3f, .ladder_count = count, .ladder_alpha = 7.0f};
    for (const std::uint32_t agent : {0u, 1u, 50u}) EXPECT_EQ(EpsilonOf(settings, agent), 0.3f);
  }
  for (const float end : {0.0f, 1.0f})
    EXPECT_EQ(EpsilonOf({.epsilon = end, .ladder_count = 4, .ladder_alpha = 7.0f}, 3), end);
}

TEST(ChooseActionTest, TiesGoToTheLowestIndex) {
  Random random(1);
  const std::vector<float> logits = {1, 2, 2, 2};
  EXPECT_EQ(ChooseAction(logits, {.mode = Mode::kGreedy}, random).action, 1);
  EXPECT_EQ(ChooseAction(logits, {.mode = Mode::kEpsilon}, random).action, 1);
}

TEST(ChooseActionTest, ExtremeLogitsGiveAValidActionAndAFiniteLogProbability) {
  Random random(1);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> wide = {-200, 200}, huge = {-1e30f, 1e30f}, masked = {0, -infinity, 1};
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(ChooseAction(wide, {}, random).action, 1);
    EXPECT_EQ(ChooseAction(huge, {}, random).action, 1);
    const ActionChoice choice = ChooseAction(masked, {}, random);
    EXPECT_NE(choice.action, 1);
    EXPECT_TRUE(std::isfinite(choice.log_prob));
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const ActionChoice lost = ChooseAction(std::vector<float>{nan, nan}, {}, random);
  EXPECT_GE(lost.action, 0);
  EXPECT_LT(lost.action, 2);
}

TEST(ChooseActionTest, TheSameSeedChoosesTheSameActions) {
  const std::vector<float> logits = {0.1f, 0.2f, 0.3f};
  Random one(7), other(7);
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(ChooseAction(logits, {}, one).action, ChooseAction(logits, {}, other).action);
}

}  // namespace
}  // namespace murmurate
