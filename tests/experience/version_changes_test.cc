#include "shared/trajectory/version_changes.h"

#include <gtest/gtest.h>

#include <vector>

#include "server/experience/training_batch.h"
#include "tests/experience/sample_trajectory.h"

namespace murmurate {
namespace {

struct VersionRun {
  std::uint64_t later;
  int begin, end;
  bool operator==(const VersionRun&) const = default;
};

std::vector<VersionRun> RunsOf(const VersionChanges& changes, int steps) {
  std::vector<VersionRun> runs;
  changes.EachRun(steps, [&](std::uint64_t later, int begin, int end) {
    runs.push_back({later, begin, end});
  });
  return runs;
}

TEST(VersionChanges, RunsOfOneVersionFollowOneAnother) {
  VersionChanges changes;
  EXPECT_EQ(RunsOf(changes, 8), (std::vector<VersionRun>{{0, 0, 8}}));
  EXPECT_TRUE(changes.Add(3, 1));
  EXPECT_TRUE(changes.Add(5, 4));
  EXPECT_EQ(RunsOf(changes, 8), (std::vector<VersionRun>{{0, 0, 3}, {1, 3, 5}, {4, 5, 8}}));
  EXPECT_EQ(changes.later(), 4u);
}

TEST(VersionChanges, OnlyALaterStepUnderANewerVersionIsAdded) {
  VersionChanges changes;
  EXPECT_FALSE(changes.Add(0, 1)) << "the first step is under the version itself";
  EXPECT_TRUE(changes.Add(3, 2));
  EXPECT_FALSE(changes.Add(2, 3));
  EXPECT_FALSE(changes.Add(4, 2));
  EXPECT_FALSE(changes.Add(4, 1));
  EXPECT_FALSE(changes.Add(65536, 3));
  EXPECT_FALSE(changes.Add(4, 65536));
  EXPECT_EQ(RunsOf(changes, 8), (std::vector<VersionRun>{{0, 0, 3}, {2, 3, 8}}));
  EXPECT_TRUE(changes.Add(3, 5)) << "the step is played under a newer one still";
  EXPECT_EQ(RunsOf(changes, 8), (std::vector<VersionRun>{{0, 0, 3}, {5, 3, 8}}));
}

TEST(VersionChanges, ThereIsRoomForFifteen) {
  VersionChanges changes;
  for (std::uint64_t i = 1; i <= VersionChanges::kMost; ++i) {
    EXPECT_FALSE(changes.full());
    EXPECT_TRUE(changes.Add(i, i));
  }
  EXPECT_TRUE(changes.full());
  EXPECT_FALSE(changes.Add(100, 100));
  EXPECT_TRUE(changes.Add(15, 100)) << "in place of the last";
  changes.Cut(15);
  EXPECT_EQ(changes.later(), 14u);
}

TEST(VersionChanges, StepsThatAreForgottenTakeTheirChangesAlong) {
  VersionChanges changes;
  EXPECT_TRUE(changes.Add(3, 1) && changes.Add(5, 2));
  changes.Cut(5);
  EXPECT_EQ(changes.later(), 1u);
  changes.Cut(0);
  EXPECT_TRUE(changes.empty());
}

TEST(VersionChanges, StayWithTheirTrajectoryInABatchAndWeighItsAge) {
  SampleTrajectory trajectory(4, 0);
  TrajectoryView view = trajectory.View();  // under version 1
  ASSERT_TRUE(view.changes.Add(1, 2));
  ASSERT_TRUE(view.changes.Add(3, 5));
  TrainingBatch batch(SampleLayout(), 1);
  ASSERT_TRUE(batch.Add(view));
  EXPECT_EQ(batch.trajectories[0].newest_version(), 6u);
  EXPECT_DOUBLE_EQ(batch.trajectories[0].MeanAge(7), (6.0 + 4 + 4 + 1) / 4);
  EXPECT_EQ(RunsOf(batch.View(0).changes, 4), RunsOf(view.changes, 4));
}

TEST(VersionChanges, BeyondTheLastStepAreRefused) {
  SampleTrajectory trajectory(4, 0);
  TrajectoryView view = trajectory.View();
  ASSERT_TRUE(view.changes.Add(4, 1));
  EXPECT_EQ(CheckTrajectory(view, SampleLayout()).message(),
            "version changes: expected before step 4, got step 4");
}

}  // namespace
}  // namespace murmurate
