// What the learner sets and the game reads, and what is recorded of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "client/settings_table.h"
#include "tests/client/game.h"

namespace murmurate {
namespace {

wire::Settings Both(std::uint32_t revision, double difficulty, double gravity) {
  return {revision, {{"difficulty", difficulty}, {"gravity", gravity}}};
}

TEST(SettingsTable, AnUnknownOrForgottenNameIsTheFallback) {
  SettingsTable table;
  EXPECT_EQ(table.Get("difficulty", 0.5), 0.5);
  EXPECT_EQ(table.revision(), 0);
  table.Apply(Both(3, 2, 9.81));
  EXPECT_EQ(table.Get("difficulty", 0.5), 2);
  EXPECT_EQ(table.Get("gravity", 0.5), 9.81);
  EXPECT_EQ(table.Get("gravit", 0.5), 0.5);
  EXPECT_EQ(table.revision(), 3);
  table.Apply({4, {{"gravity", 1}}});
  EXPECT_EQ(table.Get("difficulty", 0.5), 0.5);
  EXPECT_EQ(table.Get("gravity", 0.5), 1);
}

TEST(SettingsTable, WhoeverSeesOneRevisionAroundItsReadingHasReadThatRevision) {
  SettingsTable table;
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint32_t i = 1; !over.load(); i = i == 65535 ? 1 : i + 1) table.Apply(Both(i, i, i));
  });
  int agreed = 0;
  while (agreed < 2000) {
    const std::uint16_t before = table.revision();
    const double difficulty = table.Get("difficulty", -1), gravity = table.Get("gravity", -1);
    if (before == 0 || table.revision() != before) continue;
    ++agreed;
    ASSERT_EQ(difficulty, before);
    ASSERT_EQ(gravity, before);
  }
  over = true;
  writer.join();
}

TEST(Settings, AreThereWithTheWelcomeAndFollowTheLearner) {
  const std::string address = FreshAddress();
  TestLearner learner(address, {});
  learner.session().SetSettings(Both(1, 2, 9.81));
  auto client = MustConnect(address);
  EXPECT_EQ(client->Setting("difficulty", -1), -1);
  Game game(*client);
  ASSERT_TRUE(Until([&] { game.Step(), learner.PollOnce(); },
                    [&] { return client->Setting("difficulty", -1) == 2; }));
  learner.session().SetSettings(Both(2, 3, 9.81));
  ASSERT_TRUE(Until([&] { game.Step(), learner.PollOnce(); },
                    [&] { return client->Setting("difficulty", -1) == 3; }));
  EXPECT_EQ(client->Setting("wind", 7), 7);
}

/// An agent on a workbench with settings of its own.
struct Bench : Workbench {
  Bench() : Workbench(4) { Publish(1); }
  void Episode(int steps) {
    for (int i = 0; i < steps; ++i) Act(i);
    agent->End(kTerminated, kSuccess);
  }
  std::vector<EpisodeRecord> Records() {
    std::vector<EpisodeRecord> records;
    for (auto received = PopTrajectory(); received.block != nullptr; received = PopTrajectory())
      records.insert(records.end(), received.view.episodes.begin(), received.view.episodes.end());
    return records;
  }
};

TEST(Settings, AnEpisodeIsRecordedUnderTheRevisionItBeganWith) {
  Bench bench;
  bench.Episode(4);  // made before any had come
  bench.settings->Apply(Both(5, 1, 1));
  bench.agent->Discard();
  bench.Episode(4);
  bench.Act(0);
  bench.settings->Apply(Both(6, 2, 2));  // inside an episode: it goes on as it began
  bench.Episode(3);
  bench.settings->Apply(Both(7, 3, 3));  // between two: nobody knows which one the game has read
  bench.Episode(4);
  bench.Episode(4);
  const auto records = bench.Records();
  ASSERT_EQ(records.size(), 5u);
  const std::uint16_t expected[] = {0, 5, 5, 0, 7};
  for (int i = 0; i < 5; ++i) EXPECT_EQ(records[i].settings, expected[i]) << i;
}

TEST(Success, IsRecordedAsTheGameSaysIt) {
  Bench bench;
  const auto act = [&] {
    for (int i = 0; i < 4; ++i) bench.Act(i);
  };
  act(), bench.agent->End(kTerminated, kSuccess);
  act(), bench.agent->End(kTerminated, kFailure);
  act(), bench.agent->End(kTerminated);
  bench.agent->episode().SetMode(PlayMode::kEvaluate);
  act(), bench.agent->End(kTerminated, kSuccess);
  const auto records = bench.Records();
  ASSERT_EQ(records.size(), 4u);
  const std::uint8_t expected[] = {2, 1, 0, 2};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(records[i].success, expected[i]) << i;
  EXPECT_EQ(records[3].mode, 1);
}

}  // namespace
}  // namespace murmurate
