#include "server/data/recorder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "server/data/recording_source.h"
#include "shared/core/loop.h"
#include "shared/model/policy_and_value.h"
#include "tests/allocations.h"
#include "tests/experience/sample_trajectory.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

PolicyAndValue SampleSpec() { return {.spaces = SampleSpaces(), .trunk = {}}; }

std::unique_ptr<Recorder> OpenRecorder(const std::string& folder, LogCallback log = {}) {
  auto recorder = Recorder::Open({folder, 64 << 20}, "default", SampleSpec(), SampleLayout(), log);
  EXPECT_TRUE(recorder.ok()) << recorder.status();
  return recorder.ok() ? std::move(*recorder) : nullptr;
}

TEST(RecorderTest, WhatIsTakenLiesInTheFilesAfterAPoll) {
  const TemporaryFolder folder;
  const auto recorder = OpenRecorder(folder.path());
  for (int i = 0; i < 3; ++i) recorder->Append(SampleTrajectory(4, 10.0f * i).View());
  recorder->PollOnce(0);
  EXPECT_EQ(recorder->counts().trajectories, 3u);
  EXPECT_EQ(recorder->counts().steps, 12u);
  EXPECT_THAT(recorder->Summary(), HasSubstr("recorded 3 trajectories (12 steps"));
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->items(), 3u);
}

// The disk that never writes: Append neither waits nor allocates, and what finds no buffer is
// counted.
TEST(RecorderTest, ASlowDiskCostsTrajectoriesAndNoTime) {
  const TemporaryFolder folder;
  std::vector<std::string> log;
  const auto recorder =
      OpenRecorder(folder.path(), [&](LogLevel, std::string_view line) { log.emplace_back(line); });
  const SampleTrajectory trajectory(4, 0);
  const TrajectoryView view = trajectory.View();
  constexpr std::uint64_t kTaken = 5000;
  const std::uint64_t before = Allocations();
  for (std::uint64_t i = 0; i < kTaken; ++i) recorder->Append(view);
  EXPECT_EQ(Allocations(), before);
  recorder->PollOnce(0);
  recorder->PollOnce(0);
  const Recorder::Counts counts = recorder->counts();
  EXPECT_GT(counts.dropped, 0u);
  EXPECT_GT(counts.trajectories, 0u);
  EXPECT_EQ(counts.trajectories + counts.dropped, kTaken);
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("the disk is slower than the play"));
  EXPECT_THAT(recorder->Summary(), HasSubstr("left out because the disk was slow"));
  recorder->Append(view);  // there is room again
  recorder->PollOnce(0);
  EXPECT_EQ(recorder->counts().trajectories, counts.trajectories + 1);
}

TEST(RecorderTest, ItsThreadWritesAllThatFindsABuffer) {
  const TemporaryFolder folder;
  const auto recorder = OpenRecorder(folder.path());
  {
    Loop loop(
        "mmr-record", [&] { recorder->PollOnce(100); }, [&] { recorder->Wake(); });
    const SampleTrajectory trajectory(4, 0);
    for (int i = 0; i < 2000; ++i) recorder->Append(trajectory.View());
  }
  recorder->PollOnce(0);  // what came after the loop's last round
  const Recorder::Counts counts = recorder->counts();
  EXPECT_EQ(counts.trajectories + counts.dropped, 2000u);
  const auto source = RecordingSource::Open(folder.path());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_EQ((*source)->items(), counts.trajectories);
}

TEST(RecorderTest, AFolderThatCannotBeMadeIsRefused) {
  const TemporaryFolder folder;
  const auto recorder = Recorder::Open({"/dev/null/recordings", 1 << 20}, "default", SampleSpec(),
                                       SampleLayout(), {});
  EXPECT_EQ(recorder.status().code(), StatusCode::kResource);
  EXPECT_THAT(recorder.status().message(), HasSubstr("record.path: /dev/null/recordings"));
}

}  // namespace
}  // namespace murmurate
