#include "server/learn/game_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint8_t kNo = 1, kYes = 2;

std::vector<EpisodeRecord> Played(std::uint32_t revision,
                                  std::initializer_list<std::uint8_t> said) {
  std::vector<EpisodeRecord> episodes;
  for (const std::uint8_t success : said)
    episodes.push_back({.raw_return = 1,
                        .length = 10,
                        .success = success,
                        .settings = static_cast<std::uint16_t>(revision)});
  return episodes;
}

GameSettings Climbing() {
  Curriculum curriculum{.from = 0, .to = 3, .step = 2, .bound = 0.5, .episodes = 4};
  return GameSettings({{"difficulty", curriculum}, {"gravity", 9.81}});
}

TEST(GameSettings, ACurriculumClimbsWhenEnoughEpisodesAtItsValueReachTheBound) {
  GameSettings settings = Climbing();
  EXPECT_EQ(settings.revision(), 1u);
  EXPECT_EQ(settings.ValueOf("difficulty"), 0);
  EXPECT_FALSE(settings.Advance(Played(1, {kYes, kYes, kNo}), 100));  // three are not four
  EXPECT_FALSE(settings.Advance(Played(1, {0, 0, 0}), 100));          // these said nothing
  EXPECT_FALSE(settings.Advance(Played(0, {kYes, kYes}), 100));       // under nobody knows what
  EXPECT_FALSE(settings.Advance(Played(77, {kYes, kYes}), 100));      // under no revision there was
  EXPECT_TRUE(settings.Advance(Played(1, {kNo}), 100));               // 2 of 4
  EXPECT_EQ(settings.ValueOf("difficulty"), 2);
  EXPECT_EQ(settings.revision(), 2u);
}

TEST(GameSettings, TheWindowBeginsAnewAndEpisodesAtTheOldValueCountNoMore) {
  GameSettings settings = Climbing();
  ASSERT_TRUE(settings.Advance(Played(1, {kYes, kYes, kYes, kYes}), 100));
  EXPECT_FALSE(settings.Advance(Played(1, {kYes, kYes, kYes, kYes}), 100));
  EXPECT_FALSE(settings.Advance(Played(2, {kYes, kNo, kNo, kNo}), 100));  // 1 of 4
  EXPECT_FALSE(settings.Advance(Played(2, {kYes}), 100));                 // the last four: 1
  EXPECT_TRUE(settings.Advance(Played(2, {kYes}), 100));                  // and now 2
  EXPECT_EQ(settings.ValueOf("difficulty"), 3) << "the last step is shorter: not beyond `to`";
  EXPECT_FALSE(settings.Advance(Played(3, {kYes, kYes, kYes, kYes, kYes}), 100));
  EXPECT_EQ(settings.ValueOf("difficulty"), 3);
}

TEST(GameSettings, EvaluationMovesNothing) {
  GameSettings settings = Climbing();
  auto episodes = Played(1, {kYes, kYes, kYes, kYes});
  for (EpisodeRecord& episode : episodes) episode.mode = 1;
  EXPECT_FALSE(settings.Advance(episodes, 100));
}

TEST(GameSettings, ACurriculumMayGoDownAndAskForAtMost) {
  GameSettings settings({{"help", Curriculum{.from = 5,
                                             .to = 4,
                                             .step = 0.5,
                                             .number = Curriculum::Number::kLength,
                                             .at_least = false,
                                             .bound = 10,
                                             .episodes = 1}}});
  EXPECT_TRUE(settings.Advance(Played(1, {0}), 0));  // episodes of 10 steps
  EXPECT_EQ(settings.ValueOf("help"), 4.5);
  auto longer = Played(2, {0});
  longer[0].length = 11;
  EXPECT_FALSE(settings.Advance(longer, 0));
}

TEST(GameSettings, AScheduleFollowsTheStepsAndEveryMoveIsARevision) {
  Schedule schedule;
  schedule.from = 2;
  schedule.to = 4;
  schedule.steps = 100;
  GameSettings settings({{"wind", schedule}});
  EXPECT_TRUE(settings.Advance({}, 50));
  EXPECT_EQ(settings.ValueOf("wind"), 3);
  EXPECT_FALSE(settings.Advance({}, 50));
  EXPECT_TRUE(settings.Advance({}, 900));
  EXPECT_EQ(settings.ValueOf("wind"), 4);
  EXPECT_EQ(settings.revision(), 3u);
  EXPECT_THAT(settings.PlayedUnder(Played(2, {0})[0]), ElementsAre(3));
  EXPECT_THAT(settings.PlayedUnder(Played(0, {0})[0]), IsEmpty());
}

TEST(GameSettings, WhatIsSetByHandStaysAndACurriculumGoesOnFromThere) {
  Schedule schedule = 1.0;
  schedule.to = 2.0;
  schedule.steps = 10;
  GameSettings settings(
      {{"difficulty", Curriculum{.to = 3, .bound = 0.5, .episodes = 1}}, {"wind", schedule}});
  EXPECT_TRUE(settings.Set("wind", 7));
  EXPECT_FALSE(settings.Advance({}, 10));
  EXPECT_EQ(settings.ValueOf("wind"), 7);
  EXPECT_TRUE(settings.Set("difficulty", 2));
  EXPECT_FALSE(settings.Set("difficulty", 3.5)) << "beyond its end";
  EXPECT_FALSE(settings.Set("nothing", 1));
  EXPECT_TRUE(settings.Advance(Played(settings.revision(), {kYes}), 10));
  EXPECT_EQ(settings.ValueOf("difficulty"), 3);
}

TEST(GameSettings, RevisionsBeginAnewAfterTheLast) {
  GameSettings settings({{"a", 0.0}});
  for (int i = 1; i < 65535; ++i) settings.Set("a", i);
  EXPECT_EQ(settings.revision(), 65535u);
  settings.Set("a", 0);
  EXPECT_EQ(settings.revision(), 1u);
  EXPECT_THAT(settings.PlayedUnder(Played(1, {0})[0]), ElementsAre(0));
}

TEST(GameSettings, WithoutAnyThereIsNoRevision) {
  GameSettings settings({});
  EXPECT_EQ(settings.revision(), 0u);
  EXPECT_FALSE(settings.Advance(Played(1, {kYes}), 10));
}

TEST(GameSettings, WhatIsSavedGoesOnWhereItWas) {
  GameSettings before = Climbing();
  ASSERT_TRUE(before.Advance(Played(1, {kYes, kYes, kYes, kYes}), 100));
  ASSERT_TRUE(before.Set("gravity", 3.7));
  SavedState state;
  before.Save(StateWriter(&state, "settings"));
  GameSettings after = Climbing();
  ASSERT_TRUE(after.Load(StateReader(state, "settings")).ok());
  EXPECT_EQ(after.values(), before.values());
  GameSettings other({{"wind", 1.0}});
  EXPECT_FALSE(other.Load(StateReader(state, "settings")).ok());
  EXPECT_EQ(other.ValueOf("wind"), 1.0);
}

}  // namespace
}  // namespace murmurate
