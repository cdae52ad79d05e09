// scripts/plot-straggler.py, shortened: a barrier gets on as fast as its slowest worker, and one with
// a backup does not.
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
      "\" MURMURATE=\"" MURMURATE_EXECUTABLE "\" timeout 60 python3 \"" MURMURATE_SOURCES
      "/scripts/plot-straggler.py\" --seconds 1 --straggler-only . >said.txt 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << place.Read("said.txt");
  std::map<std::string, double> updates;
  std::istringstream lines(place.Read("said.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string rule, straggler;
    words >> rule >> straggler >> updates[rule];
  }
  ASSERT_EQ(updates.size(), 3u) << place.Read("said.txt");
  EXPECT_GT(updates["sync"], 0.0);
  EXPECT_GT(updates["sync-backup"], 2 * updates["sync"]);
  EXPECT_GT(updates["asgd"], 2 * updates["sync"]);
  EXPECT_NE(place.Read("straggler.svg").find("<polyline"), std::string::npos);
  EXPECT_TRUE(ProcessesOf(place).empty());
}

}  // namespace
}  // namespace murmurate
