// What the page reads from the disk, while a run writes it.
#include "server/page/run_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr std::int64_t kLater = RunFiles::kLookNs;

class RunFilesTest : public ::testing::Test {
 protected:
  std::string Folder(const std::string& run) {
    fs::create_directories(folder_.path() + "/runs/" + run);
    return folder_.path() + "/runs/" + run;
  }
  void Write(const std::string& run, const std::string& file, const std::string& text,
             std::ios::openmode mode = std::ios::trunc) {
    std::ofstream(Folder(run) + '/' + file, mode) << text;
  }
  TemporaryFolder folder_;
};

const std::string kHeader = "time/total_timesteps,other,rollout/ep_rew_mean\n";

TEST_F(RunFilesTest, CurvesOfThisRunAndOfOthersOverEachOther) {
  Write("mine", "progress.csv", kHeader + "100,1,9.5\n200,2,\n300,3,20.25\n");
  Write("other", "progress.csv", kHeader + "50,1,1\n");
  Write("empty", "log.txt", "no progress\n");
  RunFiles files(Folder("mine"));
  RunFiles::Seen seen;
  const Json runs = Json::parse(files.Curves(&seen, kLater));
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0]["name"], "mine");
  EXPECT_EQ(runs[0]["own"], true);
  EXPECT_EQ(runs[0]["curves"]["rollout/ep_rew_mean"].dump(), "[[100,9.5],[300,20.25]]");
  EXPECT_EQ(runs[1]["name"], "other");
  EXPECT_EQ(runs[1]["own"], false);
  EXPECT_FALSE(runs[0]["curves"].contains("other"));
}

TEST_F(RunFilesTest, OnlyWhatHasChangedIsSentAgain) {
  Write("mine", "progress.csv", kHeader + "100,1,9.5\n");
  Write("other", "progress.csv", kHeader + "50,1,1\n");
  RunFiles files(Folder("mine"));
  RunFiles::Seen seen;
  EXPECT_THAT(Json::parse(files.Curves(&seen, kLater)), SizeIs(2));
  EXPECT_EQ(files.Curves(&seen, 2 * kLater), "[]");
  Write("mine", "progress.csv", "200,1,10\n300,1", std::ios::app);
  EXPECT_EQ(files.Curves(&seen, 2 * kLater + 1), "[]") << "too soon to look again";
  const Json changed = Json::parse(files.Curves(&seen, 3 * kLater));
  ASSERT_THAT(changed, SizeIs(1));
  EXPECT_EQ(changed[0]["curves"]["rollout/ep_rew_mean"].dump(), "[[100,9.5],[200,10]]");
  Write("mine", "progress.csv", ",11\n", std::ios::app);  // the rest of the row
  const Json whole = Json::parse(files.Curves(&seen, 4 * kLater));
  EXPECT_EQ(whole[0]["curves"]["rollout/ep_rew_mean"].dump(), "[[100,9.5],[200,10],[300,11]]");
}

TEST_F(RunFilesTest, AFileThatWasReplacedIsReadAnew) {
  Write("mine", "progress.csv", kHeader + "100,1,1\n200,1,2\n");
  RunFiles files(Folder("mine"));
  RunFiles::Seen seen;
  (void)files.Curves(&seen, kLater);
  Write("mine", "new.csv",
        "time/total_timesteps,rollout/ep_rew_mean,train/loss\n100,7,0.5\n200,8,0.25\n300,9,0.1\n");
  fs::rename(Folder("mine") + "/new.csv", Folder("mine") + "/progress.csv");
  const Json runs = Json::parse(files.Curves(&seen, 2 * kLater));
  ASSERT_THAT(runs, SizeIs(1));
  EXPECT_EQ(runs[0]["curves"]["rollout/ep_rew_mean"].dump(), "[[100,7],[200,8],[300,9]]");
  EXPECT_EQ(runs[0]["curves"]["train/loss"].dump(), "[[100,0.5],[200,0.25],[300,0.1]]");
}

TEST_F(RunFilesTest, ManyRunsAndLongCurvesAreBounded) {
  std::string rows = kHeader;
  for (int i = 1; i <= 5000; ++i) rows += std::to_string(i) + ",0," + std::to_string(i) + '\n';
  Write("mine", "progress.csv", rows);
  for (int i = 0; i < 20; ++i)
    Write("run-" + std::to_string(i), "progress.csv", kHeader + "1,1,1\n");
  RunFiles files(Folder("mine"));
  RunFiles::Seen seen;
  const Json runs = Json::parse(files.Curves(&seen, kLater));
  EXPECT_THAT(runs, SizeIs(1 + RunFiles::kMostRuns));
  const Json& points = runs[0]["curves"]["rollout/ep_rew_mean"];
  EXPECT_LE(points.size(), RunFiles::kMostPoints);
  EXPECT_GE(points.back()[0].get<int>(), 4990) << "the end is kept";
}

TEST_F(RunFilesTest, StrangeFilesAreNoCurves) {
  Write("mine", "progress.csv", "");
  Write("a", "progress.csv", std::string(100'000, 'x'));
  Write("b", "progress.csv", "steps,return\n1,2\n");
  Write("c", "progress.csv", kHeader + "nan,1,1\n-5,1,1\n1e300,1,1\n\n,,,,,,,\n7,1,inf\n8,1,nan\n");
  fs::create_directories(Folder("d") + "/progress.csv");
  RunFiles files(Folder("mine"));
  RunFiles::Seen seen;
  for (const Json& run : Json::parse(files.Curves(&seen, kLater)))
    EXPECT_TRUE(run["curves"].empty()) << run;
  EXPECT_EQ(files.Curves(&seen, 2 * kLater), "[]") << "a file without steps has not changed";
}

TEST_F(RunFilesTest, TheEndOfTheLog) {
  RunFiles files(Folder("mine"));
  EXPECT_EQ(Json::parse(files.Log())["lines"].size(), 0u);
  Write("mine", "log.txt", "first\nsecond \xff <b>\n");
  EXPECT_EQ(Json::parse(files.Log())["lines"][0], "first");
  std::string many;
  for (int i = 0; i < 10'000; ++i) many += "line " + std::to_string(i) + '\n';
  Write("mine", "log.txt", many);
  const Json lines = Json::parse(files.Log())["lines"];
  EXPECT_THAT(lines, SizeIs(RunFiles::kMostLines));
  EXPECT_EQ(lines.back(), "line 9999");
}

TEST_F(RunFilesTest, CheckpointsTheNewestFirst) {
  const std::string folder = Folder("mine") + "/checkpoints/";
  RunFiles files(Folder("mine"));
  EXPECT_EQ(files.Checkpoints(), "[]");
  for (const char* name :
       {"step-000000001000", "step-000000002000", "best-step-000000001000", ".tmp-1"}) {
    fs::create_directories(folder + name);
    std::ofstream(folder + name + "/weights.safetensors") << std::string(100, 'w');
  }
  fs::create_symlink("step-000000002000", folder + "latest");
  fs::create_symlink("best-step-000000001000", folder + "best");
  const Json list = Json::parse(files.Checkpoints());
  ASSERT_THAT(list, SizeIs(3));
  EXPECT_EQ(list[0]["step"], 2000);
  EXPECT_EQ(list[0]["latest"], true);
  EXPECT_EQ(list[0]["bytes"], 100);
  EXPECT_EQ(list[1]["latest"], false);
  EXPECT_NEAR(list[0]["written_s"].get<double>(), static_cast<double>(std::time(nullptr)), 60);
  EXPECT_EQ(list[1]["best"].get<bool>() || list[2]["best"].get<bool>(), true);
}

}  // namespace
}  // namespace murmurate
