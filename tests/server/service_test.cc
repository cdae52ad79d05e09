// The daemon as a service: its environment, what a service manager hears, SIGHUP, its log, its disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/server/process.h"
#include "tests/server/service_stage.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kIpc = "server.listen=[\"ipc\"]";

std::string AddressOf(const Workplace& place, const std::string& run) {
  std::string found;
  Eventually(20, [&] {
    const auto json =
        nlohmann::json::parse(place.Read("runs/" + run + "/address.json"), nullptr, false);
    if (json.is_object()) found = json["listen"][0];
    return !found.empty();
  });
  return found;
}

TEST(ServiceEnvironment, ShowsInCheckWhereAValueComesFrom) {
  const Workplace place;
  place.Write("c.toml", "[run]\nenvironment = \"cartpole\"\nseed = 1\n");
  const std::vector<std::string> environment = {"env", "MURMURATE_RUN__SEED=2",
                                                "MURMURATE_ALGORITHM__EPOCHS=3"};
  Process check(place.path(), {"check", "c.toml", "--set", "algorithm.epochs=4"}, environment);
  EXPECT_EQ(check.Wait(20), 0) << check.Errors();
  EXPECT_THAT(check.Output(), ContainsRegex("run.seed +2 +MURMURATE_RUN__SEED"));
  EXPECT_THAT(check.Output(), ContainsRegex("algorithm.epochs +4 +--set algorithm.epochs=4"));
}

TEST(ServiceEnvironment, AnUnknownVariableIsTwoAndOneLine) {
  const Workplace place;
  Process check(place.path(), {"serve"}, {"env", "MURMURATE_RUN__SEEED=2"});
  EXPECT_EQ(check.Wait(20), 2);
  EXPECT_EQ(check.Errors(),
            "MURMURATE_RUN__SEEED: unknown key \"seeed\" in [run]; did you mean \"seed\"?\n");
  EXPECT_FALSE(place.Has("runs"));
}

/// The learners that it starts have its settings, with names and seeds of their own.
TEST(ServiceEnvironment, HoldsForARunWithSeveralLearners) {
  const Workplace place;
  Process train(place.path(),
                {"train", "cartpole", "--learners", "2", "--steps", "8000", "--quiet"},
                {"env", "MURMURATE_RUN__NAME=both", "MURMURATE_RUN__SEED=40"});
  EXPECT_LE(train.Wait(60), 1) << train.Errors();
  EXPECT_THAT(place.Read("runs/both/config.toml"), HasSubstr("seed = 40\n"));
  EXPECT_THAT(place.Read("runs/both/learner-1/config.toml"), HasSubstr("seed = 1040\n"));
}

TEST(Service, TellsItsManagerThatItIsReadyHowItIsAndThatItStops) {
  const Workplace place;
  const NotifySocket manager("@murmurate-service-" + std::to_string(getpid()));
  ASSERT_TRUE(manager.good());
  Process serve(place.path(), {"serve", "--set", kIpc, "--quiet"},
                {"env", "NOTIFY_SOCKET=" + manager.name(), "WATCHDOG_USEC=4000000"});
  ASSERT_TRUE(manager.Hears("READY=1\n", 20'000)) << serve.Errors();
  EXPECT_TRUE(manager.Hears("STATUS=0 steps learned from", 20'000));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(manager.Hears("WATCHDOG=1", 4000)) << i;
  serve.Send(SIGHUP);
  EXPECT_TRUE(manager.Hears("RELOADING=1", 20'000));
  EXPECT_TRUE(manager.Hears("READY=1", 20'000));
  serve.Send(SIGTERM);
  EXPECT_TRUE(manager.Hears("STOPPING=1", 20'000));
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
}

/// The environment that a process was started with.
std::string EnvironmentOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Service, NoProcessThatTrainStartsHearsOfTheManager) {
  const Workplace place;
  const NotifySocket manager("@murmurate-children-" + std::to_string(getpid()));
  ASSERT_TRUE(manager.good());
  Process train(place.path(),
                {"train", "cartpole", "--learners", "2", "--steps", "100000000", "--quiet", "--set",
                 "run.stop_at_return=1000"},
                {"env", "NOTIFY_SOCKET=" + manager.name(), "WATCHDOG_USEC=100000000"});
  ASSERT_TRUE(manager.Hears("READY=1", 20'000)) << train.Errors();
  ASSERT_TRUE(Eventually(20, [&] { return ProcessesOf(place, "--name actor").size() >= 2; }));
  int others = 0;
  for (const pid_t pid : ProcessesOf(place)) {
    if (pid == train.pid()) continue;
    ++others;
    const std::string environment = EnvironmentOf(pid);
    EXPECT_EQ(environment.find("NOTIFY_SOCKET"), environment.npos) << pid;
    EXPECT_EQ(environment.find("WATCHDOG_"), environment.npos) << pid;
  }
  EXPECT_GE(others, 4) << "an actor each, a shard and a learner";
}

/// Whether trajectories of an actor have become part of a batch, as the status of the run says.
bool HasBegunABatch(const Workplace& place, const std::string& run) {
  const Ran ran = RunMurmurate(place.path(), {"status", run, "--json"});
  const auto status = nlohmann::json::parse(ran.output, nullptr, false);
  if (!status.is_object()) return false;
  for (const auto& actor : status["actors"])
    if (!actor["staleness"].empty()) return true;
  return false;
}

TEST(Service, GivesNoSignOfLifeWhileABatchHangs) {
  const Workplace place;
  const NotifySocket manager("@murmurate-hangs-" + std::to_string(getpid()));
  ASSERT_TRUE(manager.good());
  Process serve(place.path(),
                {"serve", "--set", kIpc, "--quiet", "--set", "model.layers=[512,512]", "--set",
                 "algorithm.batch_steps=8192", "--set", "algorithm.epochs=1000"},
                {"env", "NOTIFY_SOCKET=" + manager.name(), "WATCHDOG_USEC=800000"});
  ASSERT_TRUE(manager.Hears("WATCHDOG=1", 20'000)) << serve.Errors();
  Process actor(place.path(), {"actor", "cartpole", "--connect", AddressOf(place, "serve")});
  ASSERT_TRUE(Eventually(60, [&] { return HasBegunABatch(place, "serve"); }));
  const auto silent = [&] { return !manager.Hears("WATCHDOG=1", 1600); };
  EXPECT_TRUE(Eventually(40, [&] { return silent() && silent(); }))
      << "the signs go on beside a batch that takes minutes";
  EXPECT_TRUE(serve.running());
}

TEST(Service, ReloadsByHangupWhatMayChangeAndNamesTheRest) {
  const Workplace place;
  place.Write("c.toml", "[run]\nname = \"r\"\n[settings]\nwind = 1\n");
  Process serve(place.path(), {"serve", "c.toml", "--set", kIpc});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  place.Write("c.toml",
              "[run]\nname = \"r\"\nstop_at_steps = 3000\n[settings]\nwind = 2\n"
              "[model]\nlayers = [8]\n");
  serve.Send(SIGHUP);
  EXPECT_TRUE(serve.Says("reload: run.stop_at_steps: (not set) -> 3000; wind: 1 -> 2"))
      << serve.Errors();
  EXPECT_TRUE(serve.Says("set by a reload: wind: 1 -> 2"));
  EXPECT_TRUE(serve.Says("cannot change while the learner runs: model.layers;"));
  EXPECT_THAT(RunMurmurate(place.path(), {"status", "r"}).output, HasSubstr("wind"));
  place.Write("c.toml", "[run]\nstop_at_steps = \n");
  serve.Send(SIGHUP);
  EXPECT_TRUE(serve.Says("reload: nothing was changed: c.toml:2: not TOML")) << serve.Errors();
  // The new rule ends the run.
  Process actor(place.path(), {"actor", "cartpole", "--connect", AddressOf(place, "r")});
  EXPECT_EQ(serve.Wait(40), 0) << serve.Errors();
  EXPECT_THAT(serve.Output(), HasSubstr("stopped after"));
}

TEST(Service, WritesItsLogAsJsonAlsoOnStderr) {
  const Workplace place;
  Process serve(place.path(), {"serve", "--set", kIpc}, {"env", "MURMURATE_LOG__FORMAT=json"});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0);
  for (const std::string& text : {serve.Errors(), place.Read("runs/serve/log.txt")}) {
    std::istringstream lines(text);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      EXPECT_EQ(nlohmann::json::parse(line)["run"], "serve") << line;
    EXPECT_GT(count, 0);
  }
}

TEST(Service, KeepsARunsFolderWithinItsBound) {
  const Workplace place;
  Process train(place.path(), {"train", "cartpole", "--steps", "60000", "--quiet", "--set",
                               "run.name=d", "--set", "run.stop_at_return=10000", "--set",
                               "checkpoint.every_steps=4000", "--set", "checkpoint.keep=1000",
                               "--set", "model.layers=[128,128]", "--set", "run.max_disk=1MB"});
  EXPECT_EQ(train.Wait(60), 1) << train.Errors();
  std::uint64_t bytes = 0;
  int checkpoints = 0;
  for (const auto& entry : fs::recursive_directory_iterator(place.path() + "/runs/d")) {
    if (entry.is_regular_file() && !entry.is_symlink()) bytes += entry.file_size();
    checkpoints += entry.path().filename().string().starts_with("step-") ? 1 : 0;
  }
  EXPECT_GE(checkpoints, 1);
  EXPECT_LT(bytes, 1'600'000u) << "the bound and the checkpoint that was written last";
  EXPECT_THAT(place.Read("runs/d/log.txt"), HasSubstr("run.max_disk is 1 MB"));
  EXPECT_EQ(RunMurmurate(place.path(), {"inspect", "d"}).code, 0);
}

}  // namespace
}  // namespace murmurate
