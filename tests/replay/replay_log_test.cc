#include "server/replay/replay_log.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/operate/temporary_folder.h"
#include "tests/replay/played_agent.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ReplayLogTest : public ::testing::Test {
 protected:
  std::unique_ptr<ReplayLog> Open() {
    auto log = ReplayLog::Open(folder_.path(), "game", PlayedSpec(2), PlayedLayout(4), 4096);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  LogPosition Append(ReplayLog& log, std::string_view steps) {
    const auto begin = log.Append(agent_.Play(steps).View());
    EXPECT_TRUE(begin.ok()) << begin.status();
    return *begin;
  }
  /// The first steps of the trajectories that are there.
  static std::vector<std::uint64_t> Read(ReplayLog& log, LogPosition first, LogPosition last) {
    std::vector<std::uint64_t> steps;
    const Status status = log.GoOnFrom(first, last, [&](LogPosition, const TrajectoryView& view) {
      steps.push_back(view.first_step);
    });
    EXPECT_TRUE(status.ok()) << status;
    return steps;
  }
  std::vector<std::string> Files() const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(folder_.path()))
      names.push_back(file.path().filename());
    std::ranges::sort(names);
    return names;
  }
  std::string PathOf(const std::string& name) const { return folder_.path() + "/" + name; }

  const TemporaryFolder folder_;
  PlayedAgent agent_{3};
};

TEST_F(ReplayLogTest, RecordsComeBackInOrderOverSegments) {
  const auto log = Open();
  ASSERT_TRUE(log->StartAnew().ok());
  std::vector<LogPosition> begins;
  for (int i = 0; i < 40; ++i) begins.push_back(Append(*log, i % 2 == 0 ? "..t" : "...."));
  EXPECT_GT(begins.back().segment, 5u);
  EXPECT_TRUE(log->Sync().ok());
  const auto again = Open();
  std::vector<LogPosition> read;
  float reward = 0;
  ASSERT_TRUE(again
                  ->GoOnFrom(begins[7], begins[33],
                             [&](LogPosition begin, const TrajectoryView& view) {
                               read.push_back(begin);
                               reward += view.reward[0];
                             })
                  .ok());
  EXPECT_EQ(read, std::vector<LogPosition>(begins.begin() + 7, begins.begin() + 33));
  EXPECT_GT(reward, 0);
}

/// Of a process that was killed some time after its last checkpoint, while it wrote.
TEST_F(ReplayLogTest, WhatCameAfterACheckpointIsTakenAway) {
  const auto log = Open();
  ASSERT_TRUE(log->StartAnew().ok());
  const LogPosition first = Append(*log, "....");  // step 0
  Append(*log, "....");
  const LogPosition last = log->end();
  for (int i = 0; i < 20; ++i) Append(*log, "....");
  std::ofstream(PathOf(Files().back()), std::ios::app) << "TREC half of a record";
  const auto again = Open();
  EXPECT_THAT(Read(*again, first, last), ElementsAre(0, 4));
  PlayedAgent other(1);
  ASSERT_TRUE(again->Append(other.Play("..").View()).ok());
  ASSERT_TRUE(again->Append(other.Play("..").View()).ok());
  EXPECT_EQ(Files().size(), 2u);
  const auto third = Open();
  EXPECT_THAT(Read(*third, first, again->end()), ElementsAre(0, 4, 0, 2));
}

TEST_F(ReplayLogTest, ForgetsWholeSegments) {
  const auto log = Open();
  ASSERT_TRUE(log->StartAnew().ok());
  std::vector<LogPosition> begins;
  for (int i = 0; i < 20; ++i) begins.push_back(Append(*log, "...."));
  const std::size_t before = Files().size();
  log->Forget(begins[10]);
  EXPECT_EQ(Files().size(), before - (begins[10].segment - 1));
  EXPECT_EQ(Files().front(), "game-00000" + std::to_string(begins[10].segment) + ".traj");
  log->Forget({99, 0});
  EXPECT_EQ(Files().size(), 1u) << "the one that is written";
}

TEST_F(ReplayLogTest, StartsAnewWithoutWhatWasThere) {
  {
    const auto log = Open();
    ASSERT_TRUE(log->StartAnew().ok());
    for (int i = 0; i < 20; ++i) Append(*log, "....");
  }
  std::ofstream(PathOf("other-000001.traj")) << "of someone else";
  const auto log = Open();
  EXPECT_TRUE(log->Has({1, 0}));
  ASSERT_TRUE(log->StartAnew().ok());
  EXPECT_EQ(Files().size(), 2u);
  EXPECT_EQ(Files().back(), "other-000001.traj");
}

TEST_F(ReplayLogTest, SaysWhatIsDamaged) {
  LogPosition first, second, last;
  {
    const auto log = Open();
    ASSERT_TRUE(log->StartAnew().ok());
    first = Append(*log, "....");
    second = Append(*log, "....");
    last = log->end();
  }
  const std::string path = PathOf("game-000001.traj");
  const auto refusal = [&] {
    const Status status = Open()->GoOnFrom(first, last, [](LogPosition, const TrajectoryView&) {});
    EXPECT_EQ(status.code(), StatusCode::kInvalidData);
    return status.message();
  };
  std::fstream file(path, std::ios::in | std::ios::out);
  file.seekp(second.offset + 200);
  file.put('!');
  file.close();
  EXPECT_EQ(refusal(), path + ": the replay is damaged at byte " + std::to_string(second.offset));
  fs::resize_file(path, second.offset);
  EXPECT_THAT(refusal(), HasSubstr("the replay ends at byte " + std::to_string(second.offset)));
  fs::resize_file(path, 10);
  EXPECT_THAT(refusal(), HasSubstr("the replay ends at byte 10"));
}

/// A file size limit is a full disk that tests can have.
TEST_F(ReplayLogTest, ARecordThatDidNotFitIsNotInTheLogNotEvenHalf) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto log = Open();
  ASSERT_TRUE(log->StartAnew().ok());
  const LogPosition first = Append(*log, "....");
  const LogPosition end = log->end();
  const rlimit small = {end.offset + 300, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto refused = log->Append(agent_.Play("....").View());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(refused.status().code(), StatusCode::kResource);
  EXPECT_EQ(fs::file_size(PathOf("game-000001.traj")), end.offset);
  EXPECT_EQ(Append(*log, "."), end);
  EXPECT_THAT(Read(*Open(), first, log->end()), ElementsAre(0, 8));
}

TEST_F(ReplayLogTest, RefusesOneOfAnotherModelOrLength) {
  LogPosition first;
  {
    const auto log = Open();
    ASSERT_TRUE(log->StartAnew().ok());
    first = Append(*log, "..");
  }
  auto other = ReplayLog::Open(folder_.path(), "game", PlayedSpec(2), PlayedLayout(8), 4096);
  ASSERT_TRUE(other.ok());
  const Status status = (*other)->GoOnFrom(first, {first.segment, first.offset + 64},
                                           [](LogPosition, const TrajectoryView&) {});
  EXPECT_THAT(status.message(), HasSubstr("is no replay of this model with this T"));
}

}  // namespace
}  // namespace murmurate
