#include "server/parameters/merge_round.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "server/parameters/optimizers.h"

namespace murmurate {
namespace {

using Numbers = std::vector<float>;

RoundPart Part(std::uint32_t worker, std::uint64_t round,
               std::span<const float> contribution = {}) {
  return {.worker = worker, .round = round, .contribution = contribution};
}

std::vector<std::uint32_t> Chosen(std::size_t most, std::uint64_t round,
                                  const std::vector<RoundPart>& arrivals) {
  std::vector<RoundPart> chosen(most);
  const std::size_t count = ChooseRound(round, arrivals, chosen);
  std::vector<std::uint32_t> workers;
  for (std::size_t i = 0; i < count; ++i) workers.push_back(chosen[i].worker);
  return workers;
}

TEST(ChooseRound, TakesTheFirstThatCameInTheOrderOfWorkers) {
  using Workers = std::vector<std::uint32_t>;
  EXPECT_EQ(Chosen(2, 5, {Part(3, 5), Part(1, 5), Part(0, 5)}), (Workers{1, 3}));
  EXPECT_EQ(Chosen(3, 5, {Part(3, 5), Part(1, 5), Part(0, 5)}), (Workers{0, 1, 3}));
  EXPECT_EQ(Chosen(4, 5, {Part(3, 5), Part(1, 5)}), (Workers{1, 3}));
  EXPECT_EQ(Chosen(2, 5, {}), Workers{});
}

TEST(ChooseRound, TakesNeitherAnotherRoundsNorASecondOfOneWorker) {
  EXPECT_EQ(Chosen(3, 5, {Part(0, 4), Part(2, 5), Part(2, 5), Part(1, 6), Part(3, 5)}),
            (std::vector<std::uint32_t>{2, 3}));
}

/// Sums of these floats depend on their order.
TEST(MergeRound, DependsOnWhoWasAmongTheFirstNotOnTheirOrder) {
  const std::array<Numbers, 4> pushed = {Numbers{1.1e7f}, {-1.1e7f}, {0.3f}, {1e9f}};
  std::vector<RoundPart> arrivals;
  for (const std::uint32_t worker : {0u, 1u, 2u})
    arrivals.push_back(Part(worker, 8, pushed[worker]));
  std::vector<float> results;
  const auto by_worker = [](const RoundPart& a, const RoundPart& b) { return a.worker < b.worker; };
  do {
    std::vector<RoundPart> all = arrivals, chosen(3);
    all.push_back(Part(3, 8, pushed[3]));            // a backup worker: too late
    all.insert(all.begin(), Part(3, 7, pushed[3]));  // of a round that is over
    ASSERT_EQ(ChooseRound(8, all, chosen), 3u);
    Numbers center = {1}, scratch(1);
    Sgd sgd({});
    MergeRound({.name = RuleName::kSync}, chosen, {.learning_rate = 1.0f}, scratch, center, &sgd);
    results.push_back(center[0]);
  } while (std::next_permutation(arrivals.begin(), arrivals.end(), by_worker));
  ASSERT_EQ(results.size(), 6u);
  for (const float result : results) EXPECT_EQ(result, 1 - 0.3f / 3);
}

/// Over more numbers than are summed at a time.
TEST(MergeRound, IsTheMeanOfEveryComponent) {
  constexpr std::size_t kCount = 5000;
  Numbers a(kCount), b(kCount), center(kCount), scratch(kCount);
  for (std::size_t j = 0; j < kCount; ++j) {
    a[j] = static_cast<float>(j);
    b[j] = 2.0f * static_cast<float>(j);
  }
  const RoundPart parts[] = {Part(0, 0, a), Part(1, 0, b)};
  Sgd sgd({});
  MergeRound({.name = RuleName::kSagn}, parts, {.learning_rate = 2.0f}, scratch, center, &sgd);
  for (std::size_t j = 0; j < kCount; ++j) EXPECT_EQ(center[j], -3.0f * static_cast<float>(j));
}

/// The mean is (3, 4); one of the two alone would have been cut.
TEST(MergeRound, ClipsTheMeanNotItsParts) {
  const Numbers a = {6, -4}, b = {0, 12};
  const RoundPart parts[] = {Part(0, 0, a), Part(1, 0, b)};
  Numbers scratch(2);
  for (const auto& [limit, factor] : {std::pair(5.0, 1.0f), std::pair(2.5, 0.5f)}) {
    Numbers center = {0, 0};
    Sgd sgd({});
    EXPECT_EQ(MergeRound({.name = RuleName::kSync}, parts, {1.0f, limit}, scratch, center, &sgd),
              5);
    EXPECT_EQ(center, (Numbers{-3 * factor, -4 * factor}));
  }
}

TEST(MergeRound, WhatIsNotFiniteChangesNothing) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const Numbers a = {1, bad};
    const RoundPart parts[] = {Part(0, 0, a)};
    for (const RuleSettings& rule :
         {RuleSettings{.name = RuleName::kSync},
          RuleSettings{.name = RuleName::kEasgd, .form = PushForm::kElastic}}) {
      Numbers center = {1, 2}, scratch(2);
      Sgd sgd({});
      EXPECT_FALSE(std::isfinite(MergeRound(rule, parts, {1.0f, 1.0}, scratch, center, &sgd)));
      EXPECT_EQ(center, (Numbers{1, 2}));
      EXPECT_EQ(sgd.steps(), 0u);
    }
  }
}

TEST(ClipFactor, IsOneUpToTheLimit) {
  EXPECT_EQ(ClipFactor(4.0, 5.0), 1.0f);
  EXPECT_EQ(ClipFactor(5.0, 5.0), 1.0f);
  EXPECT_EQ(ClipFactor(10.0, 5.0), 0.5f);
  EXPECT_EQ(ClipFactor(10.0, 0.0), 1.0f);
}

}  // namespace
}  // namespace murmurate
