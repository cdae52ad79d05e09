#include "server/operate/checkpoint_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "server/operate/spare_state.h"
#include "tests/operate/sample_checkpoint.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

struct Fixture {
  explicit Fixture(Retention retention = {})
      : writer(
            retention,
            [this](LogLevel level, std::string_view line) {
              EXPECT_EQ(level, LogLevel::kError);
              log.emplace_back(line);
            },
            [this](const std::string&, const Status& written, Checkpoint& checkpoint) {
              if (written.ok()) committed.push_back(checkpoint.weights.steps);
              spare.Release(std::move(checkpoint.state));
            }) {}
  void Post(std::uint64_t steps) {
    writer.Post(folder.path(), [steps] { return SampleCheckpoint(steps); });
  }

  TemporaryFolder folder;
  std::vector<std::string> log;
  std::vector<std::uint64_t> committed;
  SpareState spare;
  CheckpointWriter writer;
};

TEST(CheckpointTimes, AreOfStepsOrOfSecondsWhicheverComesFirst) {
  CheckpointTimes times(100, 60, 0);
  EXPECT_FALSE(times.Due(99, kSecond));
  EXPECT_TRUE(times.Due(105, kSecond));
  EXPECT_FALSE(times.Due(199, 2 * kSecond));  // the next multiple, not 100 steps more
  EXPECT_TRUE(times.Due(200, 2 * kSecond));
  EXPECT_FALSE(times.Due(201, 61 * kSecond));
  EXPECT_TRUE(times.Due(201, 62 * kSecond));
  EXPECT_FALSE(times.Due(299, 63 * kSecond));
}

TEST(CheckpointTimes, ZeroIsNever) {
  CheckpointTimes times(0, 0, 0);
  EXPECT_FALSE(times.Due(UINT64_MAX - 1, INT64_MAX - 1));
}

TEST(CheckpointTimes, AResumedRunDoesNotRepeatWhatIsBehindIt) {
  CheckpointTimes times(100, 0, 0);
  times.StartAt(1050);
  EXPECT_FALSE(times.Due(1099, 0));
  EXPECT_TRUE(times.Due(1100, 0));
}

TEST(CheckpointWriter, NewestWinsAndNothingIsWrittenTwice) {
  Fixture fixture;
  for (const std::uint64_t steps : {10, 20, 30}) fixture.Post(steps);
  EXPECT_TRUE(fixture.writer.PollOnce(0));
  EXPECT_FALSE(fixture.writer.PollOnce(0));
  EXPECT_THAT(CheckpointSteps(fixture.folder.path()), ElementsAre(30));
  EXPECT_THAT(fixture.committed, ElementsAre(30));
  EXPECT_EQ(fixture.writer.Health(fixture.folder.path()).last_step, 30u);
}

TEST(CheckpointWriter, KeepsWhatRetentionNames) {
  Fixture fixture({.keep = 2});
  for (const std::uint64_t steps : {10, 20, 30}) {
    fixture.Post(steps);
    fixture.writer.PollOnce(0);
  }
  EXPECT_THAT(CheckpointSteps(fixture.folder.path()), ElementsAre(20, 30));
}

TEST(CheckpointWriter, OfBestOnesThatWaitTheBestIsWrittenBesideTheNewestAndCommitsNothing) {
  Fixture fixture({.keep = 1});
  const auto best = [&](std::uint64_t steps, double mean) {
    fixture.writer.PostBest(fixture.folder.path(), {mean}, [steps] {
      return Checkpoint{.weights = SampleCheckpoint(steps).weights};
    });
  };
  best(5, NAN);
  EXPECT_FALSE(fixture.writer.PollOnce(0)) << "no number is the best";
  fixture.Post(30);
  for (const auto& [steps, mean] : {std::pair{10, 1.0}, {20, 3.0}, {25, 2.0}}) best(steps, mean);
  EXPECT_TRUE(fixture.writer.PollOnce(0));
  EXPECT_TRUE(fixture.writer.PollOnce(0));
  EXPECT_FALSE(fixture.writer.PollOnce(0));
  const auto kept = ReadBestCheckpoint(fixture.folder.path(), {});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_EQ(kept->checkpoint.weights.steps, 20u);
  EXPECT_EQ(kept->checkpoint.state, SavedState{});
  EXPECT_THAT(fixture.committed, ElementsAre(30));
  EXPECT_EQ(fixture.writer.Health(fixture.folder.path()).last_step, 30u);
}

TEST(SpareState, GivesBackTheMemoryAndNothingElse) {
  SpareState spare;
  EXPECT_EQ(spare.Acquire(), SavedState{});
  SavedState state = SampleCheckpoint(10).state;
  const float* const moments = state.floats.at("learner.moments").data();
  spare.Release(std::move(state));
  state = spare.Acquire();
  EXPECT_EQ(state.floats.at("learner.moments").data(), moments);
  EXPECT_TRUE(state.words.empty() && state.doubles.empty());
  EXPECT_EQ(spare.Acquire(), SavedState{});
}

/// A folder whose checkpoints cannot be made, because a file has their name.
void Obstruct(const std::string& checkpoints) {
  fs::rename(checkpoints, checkpoints + "-aside");
  std::fclose(std::fopen(checkpoints.c_str(), "w"));
}
void Clear(const std::string& checkpoints) {
  fs::remove(checkpoints);
  fs::rename(checkpoints + "-aside", checkpoints);
}

TEST(CheckpointWriter, TheMemoryOfOneThatCannotBeWrittenComesBackToo) {
  Fixture fixture;
  fixture.Post(10);
  fixture.writer.PollOnce(0);
  Obstruct(fixture.folder.path() + "/checkpoints");
  SavedState state = SampleCheckpoint(20).state;
  (void)fixture.spare.Acquire();
  const float* const moments = state.floats.at("learner.moments").data();
  fixture.writer.Post(fixture.folder.path(), [&] {
    Checkpoint checkpoint = SampleCheckpoint(20);
    checkpoint.state = std::move(state);
    return checkpoint;
  });
  fixture.writer.PollOnce(0);
  EXPECT_THAT(fixture.committed, ElementsAre(10)) << "nobody is told that it is there";
  state = fixture.spare.Acquire();
  ASSERT_TRUE(state.floats.contains("learner.moments"));
  EXPECT_EQ(state.floats.at("learner.moments").data(), moments);
}

TEST(CheckpointWriter, BestWeightsThatAreNotKeptAreLoudUntilSomeAre) {
  Fixture fixture;
  const std::string checkpoints = fixture.folder.path() + "/checkpoints";
  const auto best = [&](std::uint64_t steps, double mean) {
    fixture.writer.PostBest(fixture.folder.path(), {mean}, [steps] {
      return Checkpoint{.weights = SampleCheckpoint(steps).weights};
    });
    EXPECT_TRUE(fixture.writer.PollOnce(0));
    return fixture.writer.Health(fixture.folder.path());
  };
  EXPECT_EQ(best(10, 1.0).best_trouble, "");
  Obstruct(checkpoints);
  const CheckpointHealth bad = best(20, 2.0);
  EXPECT_EQ(bad.best_failures, 1u);
  EXPECT_THAT(bad.best_trouble, HasSubstr(checkpoints));
  EXPECT_EQ(bad.trouble, "") << "what a run goes on from is not concerned";
  EXPECT_EQ(bad.failures, 0u);
  ASSERT_EQ(fixture.log.size(), 1u);
  EXPECT_THAT(fixture.log[0], HasSubstr("the best weights so far are not kept: "));
  EXPECT_THAT(fixture.log[0], HasSubstr("training goes on"));
  Clear(checkpoints);
  EXPECT_THAT(best(25, 0.5).best_trouble, HasSubstr(checkpoints)) << "nothing was written";
  const CheckpointHealth good = best(30, 3.0);
  EXPECT_EQ(good.best_trouble, "");
  EXPECT_EQ(good.best_failures, 1u);
}

TEST(CheckpointWriter, AFailedWriteIsLoudTouchesNothingAndTheNextOneSucceeds) {
  Fixture fixture({.keep = 1});
  fixture.Post(10);
  fixture.writer.PollOnce(0);
  const std::string checkpoints = fixture.folder.path() + "/checkpoints";
  Obstruct(checkpoints);
  fixture.Post(20);
  EXPECT_TRUE(fixture.writer.PollOnce(0));
  ASSERT_EQ(fixture.log.size(), 1u);
  EXPECT_THAT(fixture.log[0], HasSubstr("1 failed so far, the last good one is of step 10"));
  EXPECT_THAT(fixture.log[0], HasSubstr(checkpoints));
  CheckpointHealth health = fixture.writer.Health(fixture.folder.path());
  EXPECT_EQ(health.failures, 1u);
  EXPECT_EQ(health.last_step, 10u);
  EXPECT_NE(health.trouble, "");

  Clear(checkpoints);
  EXPECT_THAT(CheckpointSteps(fixture.folder.path()), ElementsAre(10));
  fixture.Post(30);
  fixture.writer.PollOnce(0);
  health = fixture.writer.Health(fixture.folder.path());
  EXPECT_EQ(health.failures, 1u);
  EXPECT_EQ(health.last_step, 30u);
  EXPECT_EQ(health.trouble, "");
  EXPECT_THAT(fixture.committed, ElementsAre(10, 30));
}

}  // namespace
}  // namespace murmurate
