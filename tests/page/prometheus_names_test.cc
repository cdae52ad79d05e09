// The names of /metrics of real learners.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "tests/page/page_of_run.h"

namespace murmurate {
namespace {

/// "" for a name as it should be: no word comes twice, and what only rises ends with _total.
std::string FaultOf(const std::string& name, const std::string& type) {
  std::set<std::string> words;
  std::istringstream parts(name);
  for (std::string word; std::getline(parts, word, '_');)
    if (!words.insert(word).second) return name + " says " + word + " twice";
  const bool total = name.ends_with("_total");
  if (total != (type == "counter")) return name + " is a " + type;
  return "";
}

/// The faults of all names that the page of a run gives, a line each; `names` counts them.
std::string FaultsOf(int port, int* names) {
  auto client = ClientOf(port);
  const auto answer = client.Get("/metrics");
  if (!answer) return "no answer";
  std::istringstream lines(answer->body);
  std::string faults;
  std::set<std::string> seen;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string sharp, what, name, type;
    words >> sharp >> what >> name >> type;
    if (sharp != "#" || what != "TYPE") continue;
    ++*names;
    if (!seen.insert(name).second) faults += name + " comes twice\n";
    if (const std::string fault = FaultOf(name, type); !fault.empty()) faults += fault + '\n';
  }
  return faults;
}

struct Run {
  const char* name;
  std::vector<std::string> command;
  const char* text;  ///< of its config, "": there is none
};

class PrometheusNamesOfRuns : public ::testing::TestWithParam<Run> {};

TEST_P(PrometheusNamesOfRuns, SayEachWordOnceAndHaveTheirUnits) {
  const Workplace place;
  place.Write("c.toml", GetParam().text);
  std::vector<std::string> command = GetParam().command;
  for (const std::string& setting :
       {kAnyPort, std::string("run.name=r"), std::string("run.log_interval_s=0.2")})
    command.insert(command.end(), {"--set", setting});
  Process learner(place.path(), command);
  const int port = AwaitPage(place, "r");
  ASSERT_GT(port, 0) << learner.Errors();
  int names = 0;
  ASSERT_TRUE(Eventually(20, [&] {  // once it has learned there are more
    names = 0;
    return FaultsOf(port, &names) != "no answer" && names > 30;
  })) << names;
  names = 0;
  EXPECT_EQ(FaultsOf(port, &names), "");
}

INSTANTIATE_TEST_SUITE_P(
    Runs, PrometheusNamesOfRuns,
    ::testing::Values(
        Run{"ppo",
            {"train", "cartpole", "--set", "run.stop_at_return=1000", "--set",
             "run.steps=100000000"},
            ""},
        Run{"dqn",
            {"train", "cartpole-dqn", "--set", "run.stop_at_return=1000", "--set",
             "run.steps=100000000"},
            ""},
        Run{"parameters",
            {"train", "cartpole", "--learners", "2", "--set", "run.stop_at_return=1000", "--set",
             "run.steps=100000000"},
            ""},
        Run{"stream",
            {"serve", "c.toml"},
            "[server]\nlisten = [\"ipc\"]\n[stream.temp]\nlisten = \"tcp://127.0.0.1:*\"\n"
            "fields = [\"temp\", \"hum\"]\ntarget = \"temp\"\nhorizon = 1\n"}),
    [](const auto& param) { return std::string(param.param.name); });

}  // namespace
}  // namespace murmurate
