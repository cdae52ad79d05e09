// scripts/last-loss.awk, which says what a run that somebody disturbed ended with.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/source_file.h"

namespace murmurate {
namespace {

/// What it prints of a progress.csv of these rows: updates, loss.
std::string LastLoss(const std::string& rows) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("murmurate-last-loss-" + std::to_string(::getpid()) + ".csv");
  std::ofstream(path) << "time/fps,train/updates,train/loss,eval/loss\n" << rows;
  const std::string command =
      "awk -f '" + SourceFile("scripts/last-loss.awk") + "' '" + path.string() + "'";
  std::FILE* const output = ::popen(command.c_str(), "r");
  char line[64] = "";
  EXPECT_NE(output, nullptr);
  EXPECT_NE(std::fgets(line, sizeof line, output), nullptr);
  EXPECT_EQ(::pclose(output), 0);
  std::filesystem::remove(path);
  return line;
}

TEST(LastLoss, IsTheMeanOfTheLastTenthOfTheUpdates) {
  EXPECT_EQ(LastLoss("1,0,,\n1,50,9,\n1,90,7,\n1,92,2,\n1,100,4,\n"), "3\n");
}

/// A barrier waits for one that died: 150 rows of what was at 57 % of the way.
TEST(LastLoss, IsNotThatOfTheRowsOfAWait) {
  std::string rows = "1,57,8,\n";
  for (int row = 0; row < 150; ++row) rows += "0,57,8,\n";
  EXPECT_EQ(LastLoss(rows + "1,80,5,\n1,95,3,\n0,95,3,\n0,95,3,\n1,100,1,\n"), "2\n");
}

TEST(LastLoss, OfARunThatWroteNoneIsADash) {
  EXPECT_EQ(LastLoss("1,0,,0.5\n1,4,,0.5\n"), "-\n");
  EXPECT_EQ(LastLoss(""), "-\n");
}

}  // namespace
}  // namespace murmurate
