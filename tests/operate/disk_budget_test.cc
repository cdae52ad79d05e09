#include "server/operate/disk_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>

#include "server/operate/checkpoint_directory.h"
#include "tests/operate/sample_checkpoint.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A run's folder with files whose ages are those of their making.
struct Fixture {
  Fixture() {
    budget.emplace(folder.path(), DiskBudget::kUnbounded,
                   [this](LogLevel, std::string_view line) { log.emplace_back(line); });
  }
  void Checkpoint(std::uint64_t steps, const std::string& model = "") const {
    const auto written = WriteCheckpoint(folder.path() + model, SampleCheckpoint(steps));
    ASSERT_TRUE(written.ok()) << written.status();
  }
  void Write(const std::string& name, std::size_t bytes) {
    const fs::path path = folder.path() + '/' + name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << std::string(bytes, 'x');
    age_ -= std::chrono::hours(1);
    fs::last_write_time(path, fs::file_time_type::clock::now() - age_);
  }
  bool Has(const std::string& name) const { return fs::exists(folder.path() + '/' + name); }
  std::uint64_t Bytes() const {
    std::uint64_t sum = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
      if (entry.is_regular_file() && !entry.is_symlink()) sum += entry.file_size();
    return sum;
  }
  void Keep(std::uint64_t most) {
    budget->set_max_bytes(most);
    budget->Keep();
  }

  TemporaryFolder folder;
  std::vector<std::string> log;
  std::optional<DiskBudget> budget;

 private:
  std::chrono::hours age_{1000};
};

TEST(DiskBudget, DeletesNothingWithinTheBoundOrWithoutOne) {
  Fixture run;
  for (const std::uint64_t steps : {10u, 20u, 30u}) run.Checkpoint(steps);
  run.budget->Keep();
  run.Keep(run.Bytes());
  EXPECT_THAT(CheckpointSteps(run.folder.path()), ElementsAre(10, 20, 30));
  EXPECT_THAT(run.log, IsEmpty());
}

TEST(DiskBudget, TheOldestCheckpointsGoFirstAndNoMoreThanMust) {
  Fixture run;
  for (const std::uint64_t steps : {10u, 20u, 30u, 40u}) run.Checkpoint(steps);
  run.Write("recordings/default-000001.traj", 100);
  run.Write("recordings/default-000002.traj", 100);
  run.Keep(run.Bytes() - 1);
  EXPECT_THAT(CheckpointSteps(run.folder.path()), ElementsAre(20, 30, 40));
  EXPECT_TRUE(run.Has("recordings/default-000001.traj"));
  ASSERT_EQ(run.log.size(), 1u);
  EXPECT_THAT(run.log[0], HasSubstr("deleted 1 old checkpoint and 0 old recording or log files"));
}

TEST(DiskBudget, TheNewestAndTheBestCheckpointStayWhateverTheBound) {
  Fixture run;
  for (const std::uint64_t steps : {10u, 20u, 30u}) run.Checkpoint(steps);
  Checkpoint best = SampleCheckpoint(10);
  best.state = {};
  best.evaluated = EvaluatedReturn{5.0, {}};
  ASSERT_TRUE(KeepBest(run.folder.path(), best, {}).ok());
  run.Keep(1);
  EXPECT_THAT(CheckpointSteps(run.folder.path()), ElementsAre(30));
  EXPECT_TRUE(ReadBestCheckpoint(run.folder.path(), {}).ok());
  ASSERT_EQ(run.log.size(), 1u);
  EXPECT_THAT(run.log[0], HasSubstr("nothing else may go"));
  run.Keep(1);
  EXPECT_EQ(run.log.size(), 1u) << "said once";
}

TEST(DiskBudget, BesideANewestThatIsDamagedTheNewestGoodOneStays) {
  Fixture run;
  for (const std::uint64_t steps : {10u, 20u, 30u}) run.Checkpoint(steps);
  std::ofstream(CheckpointFolder(run.folder.path(), 30) + "/weights.safetensors") << "rot";
  run.Keep(1);
  EXPECT_THAT(CheckpointSteps(run.folder.path()), ElementsAre(20, 30));
}

TEST(DiskBudget, ThenRecordingsAndRotatedLogsByAgeButNotTheNewestOfThem) {
  Fixture run;
  run.Write("recordings/default-000001.traj", 1000);
  run.Write("log.2.txt", 1000);
  run.Write("recordings/default-000002.traj", 1000);
  run.Write("recordings/npc-000001.traj", 1000);
  run.Write("log.1.txt", 1000);
  run.Write("log.txt", 1000);
  run.Write("progress.csv", 1000);
  run.Keep(5500);
  EXPECT_FALSE(run.Has("recordings/default-000001.traj"));
  EXPECT_FALSE(run.Has("log.2.txt"));
  EXPECT_TRUE(run.Has("log.1.txt"));
  run.Keep(1);
  EXPECT_FALSE(run.Has("log.1.txt"));
  for (const char* stays :
       {"recordings/default-000002.traj", "recordings/npc-000001.traj", "log.txt", "progress.csv"})
    EXPECT_TRUE(run.Has(stays)) << stays;
}

TEST(DiskBudget, FurtherModelsLoseTheirOldCheckpointsToo) {
  Fixture run;
  fs::create_directories(run.folder.path() + "/models/npc");
  for (const std::uint64_t steps : {10u, 20u}) run.Checkpoint(steps, "/models/npc");
  run.Keep(1);
  EXPECT_THAT(CheckpointSteps(run.folder.path() + "/models/npc"), ElementsAre(20));
}

}  // namespace
}  // namespace murmurate
