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
  const std::string command = "cd \"" + place.path() + "\" && XDG_RUNTIME_DIR=\"" + place.path() +
                              "\" MURMURATE=\"" MURMURATE_EXECUTABLE
                              "\" timeout 60 python3 \"" MURMURATE_SOURCES
                              "/scripts/plot-straggler.py\" --seconds 1 . >said.txt 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << place.Read("said.txt");
  std::map<std::string, double> updates;  // "sync straggler"
  std::istringstream lines(place.Read("said.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string rule, how;
    double count = 0;
    words >> rule >> how >> count;
    updates[rule + ' ' + how] = count;
  }
  ASSERT_EQ(updates.size(), 6u) << place.Read("said.txt");
  EXPECT_GT(updates["sync straggler"], 0.0);
  EXPECT_LT(updates["sync straggler"], 0.5 * updates["sync undisturbed"]);
  EXPECT_GT(updates["sync-backup straggler"], 2 * updates["sync straggler"]);
  EXPECT_GT(updates["asgd straggler"], 2 * updates["sync straggler"]);
  EXPECT_NE(place.Read("straggler.svg").find("<polyline"), std::string::npos);
  EXPECT_TRUE(ProcessesOf(place).empty());
}

}  // namespace
}  // namespace murmurate
