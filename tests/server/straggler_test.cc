// scripts/plot-straggler.py, shortened: while a worker is stopped, a barrier makes no update, one
// with a backup and a rule without a barrier go on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "tests/server/process.h"

namespace murmurate {
namespace {

TEST(Straggler, HoldsUpABarrierAndNotOneWithABackupOrNone) {
  Workplace place;
  const std::string command =
      "cd \"" + place.path() + "\" && XDG_RUNTIME_DIR=\"" + place.path() +
      "\" MURMURATE=\"" MURMURATE_EXECUTABLE "\" timeout 110 python3 \"" MURMURATE_SOURCES
      "/scripts/plot-straggler.py\" --seconds 1 --stopped 1 --straggler-only . >said.txt 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << place.Read("said.txt");
  // "sync straggler 812 updates in 1.0 s, 0 of them in the second halves of its stops; ..."
  std::map<std::string, double> while_stopped;
  std::istringstream lines(place.Read("said.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string rule, word;
    words >> rule;
    for (int skipped = 0; skipped < 6; ++skipped) words >> word;
    words >> while_stopped[rule];
  }
  ASSERT_EQ(while_stopped.size(), 3u) << place.Read("said.txt");
  EXPECT_EQ(while_stopped["sync"], 0.0) << place.Read("said.txt");
  EXPECT_GT(while_stopped["sync-backup"], 5.0) << place.Read("said.txt");
  EXPECT_GT(while_stopped["asgd"], 5.0) << place.Read("said.txt");
  EXPECT_NE(place.Read("straggler.svg").find("<polyline"), std::string::npos);
  EXPECT_TRUE(ProcessesOf(place).empty());
}

}  // namespace
}  // namespace murmurate
