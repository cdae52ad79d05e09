#include "server/daemon/evaluated_play.h"

#include <gtest/gtest.h>

#include <vector>

namespace murmurate {
namespace {

constexpr std::int64_t kLate = EvaluatedPlay::kLeastNs;

struct Fixture {
  Fixture()
      : play([this] { return settings; },
             [this](EvaluatedPlay::Result result) { results.push_back(std::move(result)); }) {}
  void Version(std::uint64_t version) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->version = version;
    play.OnSnapshot(std::move(snapshot), {.learned = 10 * version, .taken = 12 * version});
  }
  /// `returns` of episodes that end at `now_ns`.
  void Add(const std::vector<double>& returns, std::int64_t now_ns, std::uint8_t mode = 2) {
    std::vector<EpisodeRecord> episodes;
    for (const double one : returns) episodes.push_back({one, 7, mode});
    play.Add(episodes, now_ns);
  }
  /// An era of 20 episodes whose returns are `mean` - 1 and + 1: a standard error of 0.23.
  void Era(double mean) {
    const std::int64_t begins = next_ns;
    for (int i = 0; i < 10; ++i) Add({mean - 1, mean + 1}, begins + kLate * i / 9);
    next_ns = begins + 2 * kLate;
  }

  std::map<std::string, double> settings{{"wind", 1.0}};
  std::vector<EvaluatedPlay::Result> results;
  EvaluatedPlay play;
  std::int64_t next_ns = 0;
};

TEST(EvaluatedPlay, AnEraIsTwentyEpisodesFiledUnderTheWeightsOfItsMiddle) {
  Fixture fixture;
  fixture.Version(3);
  fixture.Add(std::vector<double>(9, 1.0), 0);
  fixture.Version(4);
  fixture.Add({1.0}, 0);
  fixture.Version(5);
  fixture.Add(std::vector<double>(9, 3.0), kLate);
  EXPECT_TRUE(fixture.results.empty()) << "19 of 20";
  fixture.Add(std::vector<double>(5, 500.0), kLate, 0);
  EXPECT_TRUE(fixture.results.empty()) << "of training";
  fixture.Add({3.0}, kLate);
  ASSERT_EQ(fixture.results.size(), 1u);
  const EvaluatedPlay::Result& result = fixture.results[0];
  EXPECT_EQ(result.evaluation.episodes, 20u);
  EXPECT_DOUBLE_EQ(result.evaluation.mean_return, 2.0);
  EXPECT_DOUBLE_EQ(result.evaluation.deviation, 1.0);
  EXPECT_DOUBLE_EQ(result.evaluation.mean_length, 7.0);
  EXPECT_EQ(result.evaluation.by, EvaluatedBy::kShare);
  EXPECT_EQ(result.evaluation.version, 4u);
  EXPECT_EQ(result.evaluation.learned_steps, 40u);
  EXPECT_EQ(result.evaluation.steps, 48u);
  EXPECT_EQ(result.snapshot->version, 4u);
  EXPECT_EQ(result.settings.at("wind"), 1.0);
  EXPECT_TRUE(result.best);
}

TEST(EvaluatedPlay, AnEraLastsSoThatAThousandAgentsMakeOneAndNotFifty) {
  Fixture fixture;
  fixture.Version(1);
  fixture.Add(std::vector<double>(1000, 1.0), 0);
  fixture.Add(std::vector<double>(1000, 1.0), kLate - 1);
  EXPECT_TRUE(fixture.results.empty());
  fixture.Add(std::vector<double>(100, 1.0), kLate);
  EXPECT_EQ(fixture.results.size(), 1u);
}

TEST(EvaluatedPlay, OfAFastGameTheLatestEpisodesCountUnderTheirOwnWeights) {
  Fixture fixture;
  fixture.Version(1);
  fixture.Add(std::vector<double>(150, -500.0), 0);
  fixture.Version(2);
  fixture.Add(std::vector<double>(50, -500.0), 0);
  fixture.Version(3);
  for (int i = 0; i < 79; ++i) {
    if (i == 42) fixture.Version(4);
    fixture.Add({50.0}, kLate - 1);
  }
  fixture.Add({50.0}, kLate);
  ASSERT_EQ(fixture.results.size(), 1u);
  const Evaluation& evaluation = fixture.results[0].evaluation;
  EXPECT_EQ(evaluation.episodes, 80u);
  EXPECT_EQ(evaluation.mean_return, 50.0);
  EXPECT_EQ(evaluation.version, 3u) << "the newest as the 40th of 80 ended";
}

TEST(EvaluatedPlay, EpisodesOfBeforeTheFirstWeightsAreOfNone) {
  Fixture fixture;
  fixture.Era(5);
  EXPECT_TRUE(fixture.results.empty());
  fixture.Version(1);
  fixture.Era(5);
  EXPECT_EQ(fixture.results.size(), 1u);
}

TEST(EvaluatedPlay, ALittleLuckMakesNoBest) {
  Fixture fixture;
  fixture.Version(1);
  for (const double mean : {5.0, 5.2, 4.0, 6.0, 6.2}) fixture.Era(mean);
  ASSERT_EQ(fixture.results.size(), 5u);
  EXPECT_TRUE(fixture.results[0].best);
  EXPECT_FALSE(fixture.results[1].best) << "better by less than the standard error";
  EXPECT_FALSE(fixture.results[2].best);
  EXPECT_TRUE(fixture.results[3].best);
  EXPECT_FALSE(fixture.results[4].best);
}

TEST(EvaluatedPlay, UnderOtherSettingsTheBestIsAnotherOne) {
  Fixture fixture;
  fixture.Version(1);
  fixture.Era(5);
  fixture.settings["wind"] = 2.0;
  fixture.Era(1);
  ASSERT_EQ(fixture.results.size(), 2u);
  EXPECT_TRUE(fixture.results[1].best);
}

}  // namespace
}  // namespace murmurate
