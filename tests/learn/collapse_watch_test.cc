// CollapseWatch on series that are made: what it says, when, and that it says nothing of runs that
// go up and down as runs do.
#include "server/learn/collapse_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace murmurate {
namespace {

using testing::HasSubstr;

constexpr double kLn2 = 0.69314718;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A batch of 100 episodes with that mean return and a standard deviation of `spread`.
LearnReport Batch(double mean, double entropy = 0.6, double spread = 10.0) {
  LearnReport report;
  report.version = 1000;
  report.updates = 4;
  report.trained_steps = 512;
  report.entropy = entropy;
  for (int i = 0; i < 100; ++i)
    report.episodes.push_back({mean + (i % 2 == 0 ? spread : -spread), 10, 0, 0});
  return report;
}

/// What it says of the batches, and after how many of them; nothing: 0.
struct Said {
  int after = 0;
  std::string words;
};
Said WhenSaid(CollapseWatch* watch, const std::vector<LearnReport>& batches) {
  for (std::size_t i = 0; i < batches.size(); ++i)
    if (auto news = watch->Add(batches[i]); !news.collapse.empty())
      return {static_cast<int>(i) + 1, news.collapse};
  return {};
}
Said WhenSaid(CollapseWatch* watch, const std::vector<double>& means) {
  std::vector<LearnReport> batches;
  for (const double mean : means) batches.push_back(Batch(mean));
  return WhenSaid(watch, batches);
}

/// A series that begins with `means` and goes on with so many of `last`.
std::vector<double> Series(std::vector<double> means, int count, double last) {
  means.insert(means.end(), static_cast<std::size_t>(count), last);
  return means;
}

TEST(CollapseWatchTest, WindowsFarBelowTheBestThatDoNotRiseAreACollapse) {
  CollapseWatch watch(kLn2);
  // Range 20 .. 300: far below is less than 104.
  const Said said = WhenSaid(&watch, Series({20, 100, 300, 60, 9, 103}, 60, 30));
  EXPECT_EQ(said.after, 3 + 50);
  EXPECT_EQ(said.words,
            "a mean return of 30.0 over 100 episodes, the last of 50 such ones that do not rise, "
            "after 300.0 at best and 20.0 at first");
}

TEST(CollapseWatchTest, AWindowThatIsNotFarBelowBreaksTheRow) {
  CollapseWatch watch(kLn2);
  EXPECT_EQ(WhenSaid(&watch, Series({20, 300}, 49, 9)).after, 0);
  EXPECT_EQ(WhenSaid(&watch, Series({110}, 49, 9)).after, 0);
  EXPECT_EQ(WhenSaid(&watch, Series({}, 1, 9)).after, 1);
}

/// 5 % of the range is 14: a rise of 0.56 from one window to the next of 50.
TEST(CollapseWatchTest, WhatClimbsAgainHasNotCollapsed) {
  CollapseWatch climbs(kLn2), rests(kLn2);
  std::vector<double> up = {20, 300}, hardly = {20, 300};
  for (int i = 0; i < 100; ++i) up.push_back(30 + 0.6 * i);
  for (int i = 0; i < 100; ++i) hardly.push_back(30 + 0.5 * i);
  EXPECT_EQ(WhenSaid(&climbs, up).after, 0);
  EXPECT_EQ(WhenSaid(&rests, hardly).after, 52);
}

TEST(CollapseWatchTest, ReturnsBelowZeroHaveARangeAsWell) {
  CollapseWatch watch(0);
  EXPECT_EQ(WhenSaid(&watch, Series({-1200, -200, -1000, -850}, 49, -1000)).after, 0)
      << "-850: 35 % of the range is left";
  EXPECT_EQ(WhenSaid(&watch, Series({}, 1, -1000)).after, 1);
}

TEST(CollapseWatchTest, WhatNeverRoseAboveItsNoiseHasNotFallen) {
  CollapseWatch watch(kLn2);
  std::vector<LearnReport> batches;
  for (int i = 0; i < 70; ++i) batches.push_back(Batch(i == 1 ? 8 : 0));
  EXPECT_EQ(WhenSaid(&watch, batches).after, 0) << "a deviation of 10";
  // One success in a hundred, and then none for a while.
  CollapseWatch sparse(kLn2);
  batches.assign(70, Batch(0, 0.6, 0));
  batches[1].episodes[0].raw_return = 1.0;
  EXPECT_EQ(WhenSaid(&sparse, batches).after, 0);
}

TEST(CollapseWatchTest, APolicyThatDoesTheSameForEverAndIsWorseThanAtFirstIsACollapse) {
  std::vector<LearnReport> batches = {Batch(22, 0.69)};
  for (int i = 0; i < 6; ++i) batches.push_back(Batch(9.3, 0.001, 1));
  CollapseWatch watch(kLn2);
  const Said said = WhenSaid(&watch, batches);
  EXPECT_EQ(said.after, 6);
  EXPECT_THAT(said.words, HasSubstr("entropy is 0.001, of 0.69"));
  CollapseWatch continuous(0);
  EXPECT_EQ(WhenSaid(&continuous, batches).after, 0) << "its entropy may be anything";
}

TEST(CollapseWatchTest, TheMostEntropyIsThatOfDice) {
  EXPECT_NEAR(MostEntropy(ActionLayout(Discrete(3))), std::log(3.0), 1e-12);
  EXPECT_NEAR(
      MostEntropy(ActionLayout(Dict({{"a", MultiDiscrete({2, 5})}, {"b", MultiBinary(3)}}))),
      std::log(10.0) + 3 * kLn2, 1e-7);
  EXPECT_EQ(MostEntropy(ActionLayout(Dict({{"a", Discrete(3)}, {"b", Box({1})}}))), 0.0);
}

TEST(CollapseWatchTest, APolicyThatIsSureAndGoodIsNone) {
  std::vector<LearnReport> batches = {Batch(22, 0.69), Batch(200, 0.3)};
  for (int i = 0; i < 20; ++i) batches.push_back(Batch(150 + i, 0.001));
  CollapseWatch watch(kLn2);
  EXPECT_EQ(WhenSaid(&watch, batches).after, 0);
}

TEST(CollapseWatchTest, UpdatesThatTearThePolicyAreSaidAfterFive) {
  LearnReport torn = Batch(20), calm = Batch(20);
  torn.approx_kl = 3.5;
  CollapseWatch watch(kLn2);
  EXPECT_EQ(WhenSaid(&watch, {torn, torn, torn, torn, calm, torn, torn, torn, torn}).after, 0);
  const Said said = WhenSaid(&watch, std::vector{torn});
  EXPECT_EQ(said.after, 1);
  EXPECT_THAT(said.words, HasSubstr("a KL above 1 (the last by 3.5)"));
}

TEST(CollapseWatchTest, NumbersThatAreNotFiniteAreSaidAfterFive) {
  LearnReport lost = Batch(20), skipped = Batch(20);
  lost.value_loss = kNan;
  skipped.updates = 0;
  skipped.skipped_updates = 4;
  CollapseWatch watch(kLn2);
  EXPECT_EQ(WhenSaid(&watch, {lost, skipped, lost, lost, skipped}).after, 5);
}

TEST(CollapseWatchTest, ItSaysSoOnceUntilAllIsWell) {
  CollapseWatch watch(kLn2);
  EXPECT_EQ(WhenSaid(&watch, Series({20, 300}, 50, 9)).after, 52);
  EXPECT_EQ(WhenSaid(&watch, Series({}, 60, 9)).after, 0);
  EXPECT_EQ(WhenSaid(&watch, Series({250}, 50, 9)).after, 51);
}

TEST(CollapseWatchTest, WindowsEndWithTheBatchThatFillsThem) {
  CollapseWatch watch(kLn2);
  LearnReport half = Batch(20);
  half.episodes.resize(60);
  EXPECT_FALSE(watch.Add(half).window);
  CollapseWatch::News news = watch.Add(half);
  EXPECT_TRUE(news.window);
  EXPECT_TRUE(news.best) << "the first is the best so far";
  LearnReport evaluated = Batch(500);
  for (EpisodeRecord& episode : evaluated.episodes) episode.mode = 1;
  EXPECT_FALSE(watch.Add(evaluated).window) << "only training counts";
  news = watch.Add(Batch(10));
  EXPECT_TRUE(news.window);
  EXPECT_FALSE(news.best);
  EXPECT_TRUE(watch.Add(Batch(30)).best);
}

TEST(CollapseWatchTest, AfterAReturnOnlyWhatWasPlayedSinceCounts) {
  CollapseWatch watch(kLn2);
  EXPECT_EQ(WhenSaid(&watch, Series({20, 300}, 50, 9)).after, 52);
  watch.OnReturn(1000);
  LearnReport late = Batch(9);
  late.version = 1004;
  late.staleness_max = 3;  // of version 1000
  EXPECT_EQ(WhenSaid(&watch, std::vector(60, late)).after, 0);
  late.staleness_max = 2;
  EXPECT_EQ(WhenSaid(&watch, std::vector(60, late)).after, 50) << "it is still below the best";
}

TEST(CollapseWatchTest, OtherSettingsBeginAnotherRange) {
  CollapseWatch watch(kLn2);
  EXPECT_EQ(WhenSaid(&watch, {20, 300}).after, 0);
  watch.Forget();
  EXPECT_EQ(WhenSaid(&watch, Series({}, 60, 9)).after, 0);
}

TEST(CollapseWatchTest, GoesOnFromWhatItSaved) {
  CollapseWatch watch(kLn2);
  EXPECT_EQ(WhenSaid(&watch, Series({20, 300}, 48, 9)).after, 0);
  SavedState state;
  watch.Save(StateWriter(&state, "watch"));
  CollapseWatch other(kLn2);
  ASSERT_TRUE(other.Load(StateReader(state, "watch")).ok());
  EXPECT_EQ(WhenSaid(&other, {9, 9, 9}).after, 2);
  EXPECT_FALSE(CollapseWatch(kLn2).Load(StateReader(SavedState{}, "watch")).ok());
}

}  // namespace
}  // namespace murmurate
