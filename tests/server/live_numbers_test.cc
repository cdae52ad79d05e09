#include "server/daemon/live_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace murmurate {
namespace {

using ::testing::HasSubstr;

struct Fixture {
  Fixture()
      : live(
            {{"difficulty", Curriculum{.to = 3, .bound = 0.5, .episodes = 1}}, {"gravity", 9.5}},
            [this](const wire::Settings& settings) { sent.push_back(settings); },
            [this](LogLevel, std::string_view line) { log += std::string(line) + '\n'; }) {
    Rates rates;
    rates.entropy = Schedule(0.01);
    rates.learning_rate.from = 4e-3;
    rates.learning_rate.to = 2e-3;
    rates.learning_rate.steps = 1000;
    live.AddModel(
        "default", rates, [] { return 500; }, [this](const Rates& r) { posted.push_back(r); });
  }
  std::string Set(const std::string& assignment) {
    const auto answer = live.Set(assignment);
    return answer.ok() ? *answer : "no: " + answer.status().message();
  }

  std::vector<wire::Settings> sent;
  std::vector<Rates> posted;
  std::string log;
  LiveNumbers live;
};

TEST(LiveNumbers, ASettingIsSetSentLoggedAndAnsweredInOneLine) {
  Fixture fixture;
  EXPECT_EQ(fixture.sent.size(), 1u);
  EXPECT_EQ(fixture.Set("gravity=3.7"), "gravity: 9.5 -> 3.7");
  EXPECT_EQ(fixture.Set("settings.difficulty=2"), "difficulty: 0 -> 2");
  ASSERT_EQ(fixture.sent.size(), 3u);
  EXPECT_EQ(fixture.sent[2].revision, 3u);
  EXPECT_EQ(fixture.sent[2].settings,
            (std::vector<wire::Setting>{{"difficulty", 2}, {"gravity", 3.7}}));
  EXPECT_EQ(fixture.live.settings(), (GameSettings::Values{{"difficulty", 2}, {"gravity", 3.7}}));
  EXPECT_EQ(fixture.log, "set by hand: gravity: 9.5 -> 3.7\nset by hand: difficulty: 0 -> 2\n");
}

TEST(LiveNumbers, ARateIsPostedAndTheScheduleItHadEnds) {
  Fixture fixture;
  EXPECT_EQ(fixture.Set("optimizer.learning_rate=1e-3"), "optimizer.learning_rate: 0.003 -> 0.001");
  EXPECT_EQ(fixture.Set("algorithm.entropy=0"), "algorithm.entropy: 0.01 -> 0");
  EXPECT_EQ(fixture.Set("model.default.algorithm.clip=0.1"), "algorithm.clip: 0 -> 0.1");
  ASSERT_EQ(fixture.posted.size(), 3u);
  EXPECT_EQ(fixture.posted[2].learning_rate.At(0), 1e-3);
  EXPECT_EQ(fixture.posted[2].learning_rate.At(1000), 1e-3);
  EXPECT_EQ(fixture.posted[2].entropy.At(0), 0);
  EXPECT_EQ(fixture.posted[2].clip.At(0), 0.1);
}

TEST(LiveNumbers, AHalvedRateIsPostedAndComesBack) {
  Fixture before;
  before.live.HalveRate("default");
  before.live.HalveRate("nobody");
  ASSERT_EQ(before.posted.size(), 1u);
  EXPECT_EQ(before.posted[0].learning_rate.At(0), 2e-3);
  EXPECT_EQ(before.posted[0].learning_rate.At(1000), 1e-3);
  EXPECT_EQ(before.posted[0].entropy.At(0), 0.01) << "the others stay";
  SavedState state;
  before.live.SaveRates("default", StateWriter(&state, "rates"));
  Fixture after;
  ASSERT_TRUE(after.live.LoadRates("default", StateReader(state, "rates")).ok());
  EXPECT_EQ(after.posted.back().learning_rate.At(0), 2e-3);
}

TEST(LiveNumbers, RatesThatWereSetComeBackUnlessTheConfigHasChangedTheirs) {
  Fixture before;
  before.Set("optimizer.learning_rate=1e-3");
  before.Set("algorithm.entropy=0.5");
  SavedState state;
  before.live.SaveRates("default", StateWriter(&state, "rates"));

  Fixture after;
  ASSERT_TRUE(after.live.LoadRates("default", StateReader(state, "rates")).ok());
  ASSERT_EQ(after.posted.size(), 1u);
  EXPECT_EQ(after.posted[0].learning_rate.At(0), 1e-3);
  EXPECT_EQ(after.posted[0].learning_rate.At(1000), 1e-3) << "the schedule is over";
  EXPECT_EQ(after.posted[0].entropy.At(0), 0.5);
  EXPECT_EQ(after.Set("algorithm.entropy=0"), "algorithm.entropy: 0.5 -> 0");

  std::vector<Rates> posted;  // resume --set algorithm.entropy=0.25
  LiveNumbers told(
      {}, [](const wire::Settings&) {}, [](LogLevel, std::string_view) {});
  Rates rates;
  rates.entropy = Schedule(0.25);
  rates.learning_rate.from = 4e-3;
  rates.learning_rate.to = 2e-3;
  rates.learning_rate.steps = 1000;
  told.AddModel(
      "default", rates, [] { return 500; }, [&](const Rates& r) { posted.push_back(r); });
  ASSERT_TRUE(told.LoadRates("default", StateReader(state, "rates")).ok());
  EXPECT_EQ(posted.back().entropy.At(0), 0.25);
  EXPECT_EQ(posted.back().learning_rate.At(0), 1e-3);
}

/// A rate that falls to 0 at the end of the run, of so many steps; resumed from `saved`.
Rates Fallen(std::uint64_t steps, bool over_the_budget, const SavedState& saved) {
  std::vector<Rates> posted;
  LiveNumbers live(
      {}, [](const wire::Settings&) {}, [](LogLevel, std::string_view) {});
  Rates rates;
  rates.learning_rate.from = 1e-2;
  rates.learning_rate.steps = steps;
  rates.learning_rate.over_the_budget = over_the_budget;
  live.AddModel(
      "default", rates, [] { return 500; }, [&](const Rates& r) { posted.push_back(r); });
  EXPECT_TRUE(live.LoadRates("default", StateReader(saved, "rates")).ok());
  return posted.back();
}

TEST(LiveNumbers, MoreStepsDoNotDropARateThatWasSetByHandUnderAScheduleOfThatHorizon) {
  LiveNumbers live(
      {}, [](const wire::Settings&) {}, [](LogLevel, std::string_view) {});
  Rates rates;
  rates.learning_rate.from = 1e-2;
  rates.learning_rate.steps = 1000;
  rates.learning_rate.over_the_budget = true;
  live.AddModel(
      "default", rates, [] { return 500; }, [](const Rates&) {});
  SavedState untouched, by_hand;
  live.SaveRates("default", StateWriter(&untouched, "rates"));
  ASSERT_TRUE(live.Set("optimizer.learning_rate=1e-3").ok());
  live.SaveRates("default", StateWriter(&by_hand, "rates"));

  EXPECT_EQ(Fallen(1000, true, by_hand).learning_rate.At(900), 1e-3);
  EXPECT_EQ(Fallen(2000, true, by_hand).learning_rate.At(900), 1e-3);
  EXPECT_DOUBLE_EQ(Fallen(2000, true, untouched).learning_rate.At(1500), 2.5e-3)
      << "what nobody set falls until the later end";
  EXPECT_DOUBLE_EQ(Fallen(2000, false, by_hand).learning_rate.At(1500), 2.5e-3)
      << "a horizon that the config now names is a change of the config";
}

TEST(LiveNumbers, NonsenseIsRefusedByTheRulesOfTheConfigAndChangesNothing) {
  Fixture fixture;
  EXPECT_EQ(
      fixture.Set("algorithm.entropy=-1"),
      "no: set algorithm.entropy=-1: algorithm.entropy: got -1 (an integer), expected a number "
      "from 0 to 100 or {from, to, steps, shape}; write for example entropy = 0.01");
  EXPECT_THAT(fixture.Set("gravity=high"), HasSubstr("settings.gravity: got \"high\" (a string), "
                                                     "expected a number"));
  EXPECT_THAT(fixture.Set("difficulty=4"), HasSubstr("expected a number from 0 to 3"));
  EXPECT_THAT(fixture.Set("dificulty=1"), HasSubstr("did you mean \"difficulty\"?"));
  EXPECT_THAT(fixture.Set("algorithm.epochs=1"),
              HasSubstr("nothing of that name can be set; did you mean"));
  EXPECT_EQ(fixture.Set("model.device=cpu"),
            "no: set model.device: a model stays where its training began; stop the run and go on "
            "with `murmurate resume RUN --set model.device=VALUE`");
  EXPECT_THAT(fixture.Set("model.npc.precision=tf32"),
              HasSubstr("murmurate resume RUN --set model.npc.precision=VALUE"));
  EXPECT_THAT(fixture.Set("gravity"), HasSubstr("expected NAME=VALUE"));
  EXPECT_THAT(fixture.Set("gravity={from = 0, to = 1, steps = 5}"), HasSubstr("expected a number"));
  EXPECT_EQ(fixture.sent.size(), 1u);
  EXPECT_TRUE(fixture.posted.empty());
  EXPECT_EQ(fixture.log, "");
}

TEST(LiveNumbers, EpisodesMoveACurriculumAndAreReportedUnderWhatTheyWerePlayed) {
  Fixture fixture;
  const EpisodeRecord good{.raw_return = 1, .length = 3, .success = 2, .settings = 1};
  const EpisodeRecord unknown{.raw_return = 1, .length = 3, .success = 2};
  const auto played = fixture.live.Learned("default", std::array{good, good, unknown}, 10);
  ASSERT_EQ(played.size(), 2u);
  EXPECT_EQ(played[1].name, "settings/gravity");
  EXPECT_EQ(played[1].sum, 19.0);
  EXPECT_EQ(played[1].count, 2u);
  EXPECT_EQ(fixture.live.settings()[0].second, 1);
  EXPECT_EQ(fixture.sent.size(), 2u);
  EXPECT_EQ(fixture.log, "setting difficulty: 0 -> 1\n");
  fixture.live.Learned("npc", std::array{EpisodeRecord{.success = 2, .settings = 2}}, 10);
  EXPECT_EQ(fixture.live.settings()[0].second, 1) << "only the first model's episodes count";
}

}  // namespace
}  // namespace murmurate
