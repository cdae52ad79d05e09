// `murmurate bench` as a user meets it: that it runs and what it says, not how fast this machine is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

std::vector<std::string> Names(const Workplace& place) {
  const Ran ran = RunMurmurate(place.path(), {"bench", "--list"});
  EXPECT_EQ(ran.code, 0) << ran.errors;
  std::vector<std::string> names;
  std::istringstream lines(ran.output);
  for (std::string line; std::getline(lines, line);)
    names.push_back(line.substr(0, line.find(' ')));
  return names;
}

TEST(Bench, EachOneMeasuresBothSidesAndSaysTheirRatio) {
  Workplace place;
  const Ran ran = RunMurmurate(place.path(), {"bench", "--json", "--seconds", "0"}, 60);
  ASSERT_EQ(ran.code, 0) << ran.errors;
  const auto report = nlohmann::json::parse(ran.output);
  std::vector<std::string> names;
  for (const auto& bench : report.at("benches")) {
    names.push_back(bench.at("name"));
    const double ours = bench.at("ours"), limit = bench.at("limit"), ratio = bench.at("ratio");
    EXPECT_GT(ours, 0) << bench.dump();
    EXPECT_GT(limit, 0) << bench.dump();
    EXPECT_GT(ratio, 0) << bench.dump();
    EXPECT_GE(bench.at("samples"), 3);
  }
  EXPECT_EQ(names, Names(place));
  for (const char* name : {"act", "gemm", "ppo", "dqn", "sac", "insert", "weights", "messages"})
    EXPECT_THAT(names, testing::Contains(name));
  EXPECT_GE(report.at("machine").at("usable_cores"), 1);
  EXPECT_NE(report.at("machine").at("processor"), "");
  EXPECT_EQ(place.LeftBehind(), "");
}

TEST(Bench, RunsWhatIsNamedForAsLongAsIsSaid) {
  Workplace place;
  const auto begin = std::chrono::steady_clock::now();
  const Ran ran = RunMurmurate(place.path(), {"bench", "gemm", "--seconds", "0.4"});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  ASSERT_EQ(ran.code, 0) << ran.errors;
  EXPECT_GE(took.count(), 0.4);
  EXPECT_EQ(std::ranges::count(ran.output, '\n'), 3) << ran.output;
  EXPECT_THAT(ran.output, ContainsRegex("[0-9]+ of [0-9]+ cores, (AVX-512|AVX2|plain), "));
  EXPECT_THAT(ran.output,
              ContainsRegex("\ngemm .*GFLOP/s, limit .*, ratio [0-9.]+, more is better\n"));
}

TEST(Bench, OneThatCannotBeMadeSaysWhyOnItsRowAndTheOthersGoOn) {
  Workplace place;
  const std::string folder = place.path() + '/' + std::string(100, 'x');  // too long for a socket
  std::filesystem::create_directories(folder + "/run");
  const Ran all = RunMurmurate(folder, {"bench", "--json", "--seconds", "0"}, 60);
  EXPECT_EQ(all.code, 5) << all.errors;
  const auto report = nlohmann::json::parse(all.output);
  EXPECT_EQ(report.at("benches").size(), Names(place).size());
  for (const auto& bench : report.at("benches")) {
    const bool talks = bench.at("name") == "act" || bench.at("name") == "messages";
    ASSERT_EQ(bench.contains("error"), talks) << bench.dump();
    if (talks) {
      EXPECT_THAT(bench.at("error").get<std::string>(), HasSubstr("; set XDG_RUNTIME_DIR to "));
    }
  }
  const Ran named = RunMurmurate(folder, {"bench", "act", "--seconds", "0"});
  EXPECT_EQ(named.code, 5);
  EXPECT_THAT(named.errors, HasSubstr("; set XDG_RUNTIME_DIR to a shorter one"));
  EXPECT_EQ(std::ranges::count(named.errors, '\n'), 1) << named.errors;
}

TEST(Bench, AnUnknownNameIsAnsweredWithTheNamesThereAre) {
  Workplace place;
  const Ran ran = RunMurmurate(place.path(), {"bench", "gemm", "speed"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.output, "");
  EXPECT_THAT(ran.errors, HasSubstr("bench \"speed\": expected some of "));
  for (const std::string& name : Names(place)) EXPECT_THAT(ran.errors, HasSubstr(name));
  EXPECT_EQ(std::ranges::count(ran.errors, '\n'), 1);
}

}  // namespace
}  // namespace murmurate
