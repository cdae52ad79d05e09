#include "server/metrics/json_lines_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "server/metrics/model_metrics.h"
#include "shared/model/safetensors.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

Reading ReadingAt(std::uint64_t steps) {
  Reading reading("model", "pr\"ey");
  reading.Set(kEnvironmentSteps, steps);
  return reading;
}

std::vector<Json> RowsIn(const std::string& folder) {
  std::vector<Json> rows;
  std::istringstream text(*ReadFile(folder + "/metrics.jsonl", 1 << 20));
  for (std::string row; std::getline(text, row);) rows.push_back(Json::parse(row));
  return rows;
}

TEST(JsonLinesFile, HasAnObjectARow) {
  TemporaryFolder folder;
  const auto sink = std::move(*OpenJsonLinesFile({folder.path()}));
  Reading reading = ReadingAt(9'007'199'254'740'993);
  reading.Set(kMeanReturn, 0.1);
  reading.Set(kEvalReturn, MetricValue());
  reading.Set(kStepRate, 5.0);
  reading.Add(kReported, "kills\n", 2.0, 1);
  ASSERT_TRUE(sink->Write(reading).ok());
  const std::vector<Json> rows = RowsIn(folder.path());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].size(), 6u);
  EXPECT_EQ(rows[0]["model"], "pr\"ey");
  EXPECT_GT(rows[0]["time"].get<double>(), 1.7e9);
  EXPECT_EQ(rows[0]["steps"], 9'007'199'254'740'993);
  EXPECT_EQ(rows[0]["time/total_timesteps"], 9'007'199'254'740'993);
  EXPECT_EQ(rows[0]["rollout/ep_rew_mean"], 0.1);
  EXPECT_EQ(rows[0]["rollout/kills\n"], 2.0);
}

TEST(JsonLinesFile, AResumedRunCutsOffLaterRowsAndHalfARow) {
  TemporaryFolder folder;
  {
    const auto sink = std::move(*OpenJsonLinesFile({folder.path()}));
    for (const std::uint64_t steps : {100, 200, 300})
      ASSERT_TRUE(sink->Write(ReadingAt(steps)).ok());
  }
  const std::string path = folder.path() + "/metrics.jsonl";
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  const Reading later = ReadingAt(900), resumed = ReadingAt(150);
  ASSERT_TRUE(OpenJsonLinesFile({.folder = folder.path(), .resumed = &later}).ok());
  EXPECT_EQ(RowsIn(folder.path()).size(), 2u);
  ASSERT_TRUE(OpenJsonLinesFile({.folder = folder.path(), .resumed = &resumed}).ok());
  ASSERT_EQ(RowsIn(folder.path()).size(), 1u);
  EXPECT_EQ(RowsIn(folder.path())[0]["steps"], 100);
  ASSERT_TRUE(OpenJsonLinesFile({folder.path()}).ok());
  EXPECT_EQ(RowsIn(folder.path()).size(), 0u);
}

TEST(JsonLinesFile, AResumedRunCutsOffRowsOfMoreTrainedSteps) {
  TemporaryFolder folder;
  const auto at = [](std::uint64_t steps, std::uint64_t trained) {
    Reading reading = ReadingAt(steps);
    reading.Set(kTrainedSteps, trained);
    return reading;
  };
  {
    const auto sink = std::move(*OpenJsonLinesFile({folder.path()}));
    for (const std::uint64_t trained : {50, 60, 70})
      ASSERT_TRUE(sink->Write(at(100, trained)).ok());
  }
  const Reading resumed = at(100, 60);
  ASSERT_TRUE(OpenJsonLinesFile({.folder = folder.path(), .resumed = &resumed}).ok());
  EXPECT_EQ(RowsIn(folder.path()).size(), 2u);
}

TEST(JsonLinesFile, WhatIsThereAndCannotBeReadIsAnError) {
  TemporaryFolder folder;
  std::filesystem::create_directory(folder.path() + "/metrics.jsonl");
  const Reading resumed = ReadingAt(100);
  EXPECT_FALSE(OpenJsonLinesFile({.folder = folder.path(), .resumed = &resumed}).ok());
  EXPECT_FALSE(OpenJsonLinesFile({folder.path()}).ok());
}

TEST(JsonLinesFile, EndsWithItsLastWholeRowWhenTheDiskIsFull) {
  TemporaryFolder folder;
  const auto sink = std::move(*OpenJsonLinesFile({folder.path()}));
  ASSERT_TRUE(sink->Write(ReadingAt(100)).ok());
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit unlimited = limit;
  limit.rlim_cur = std::filesystem::file_size(folder.path() + "/metrics.jsonl") + 10;
  std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status failed = sink->Write(ReadingAt(200));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &unlimited), 0);
  EXPECT_FALSE(failed.ok());
  ASSERT_TRUE(sink->Write(ReadingAt(300)).ok());
  const std::vector<Json> rows = RowsIn(folder.path());
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1]["steps"], 300);
}

}  // namespace
}  // namespace murmurate
