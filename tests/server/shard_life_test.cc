// When shards that were started by hand end, who knows them, and what a learner says that waits for
// one; whose port it is that a learner cannot have. Separate processes, real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/server/corners.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ShardLife : public testing::Test {
 protected:
  void SetUp() override {
    WriteCorners(place_);
    place_.Write("c.toml", Corners("r",
                                   "[parameters]\nmode = \"server\"\nrule = \"asgd\"\n"
                                   "shards = [\"" +
                                       Address() + "\"]\n"));
  }
  std::string Address() const { return "ipc://" + place_.path() + "/s"; }
  std::vector<std::string> Shard(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"params", "c.toml", "--shard", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::vector<std::string> Learner(const std::string& passes) const {
    return {"train", "c.toml", "--set", "data.passes=" + passes};
  }
  /// What `murmurate ARGUMENTS` prints; it must succeed.
  std::string Says(const std::vector<std::string>& arguments) const {
    const Ran ran = RunMurmurate(place_.path(), arguments);
    EXPECT_EQ(ran.code, 0) << ran.errors;
    return ran.output;
  }
  Workplace place_;
};

constexpr char kEndless[] = "1000000000";

TEST_F(ShardLife, AShardWaitsForItsFirstWorkerAndEndsWithItsLast) {
  Process shard(place_.path(), Shard());
  ASSERT_TRUE(shard.Says("it ends with its last worker, or by Ctrl+C")) << shard.Errors();
  EXPECT_THAT(Says({"status"}), AllOf(HasSubstr("shard 0 of 1 ("), HasSubstr("listening on ipc://"),
                                      HasSubstr("no worker has come yet"),
                                      HasSubstr("ends when its last worker has left")));
  const Ran learner = RunMurmurate(place_.path(), Learner("4"));
  EXPECT_EQ(learner.code, 0) << learner.errors;
  EXPECT_EQ(shard.Wait(20), 0) << shard.Errors();
  EXPECT_TRUE(shard.Says("its last worker has left, so this shard ends")) << shard.Output();
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(ShardLife, WhatAKilledOneHadHalfWrittenIsRemovedWhenItGoesOn) {
  {
    Process shard(place_.path(), Shard());
    EXPECT_EQ(RunMurmurate(place_.path(), Learner("4")).code, 0);
    ASSERT_EQ(shard.Wait(20), 0) << shard.Errors();
  }
  const std::string half = "runs/r-shard-0/models/default/checkpoints/.tmp-step-000000999999";
  ASSERT_TRUE(std::filesystem::create_directory(place_.path() + '/' + half));
  place_.Write(half + "/weights.safetensors", "half");
  Process shard(place_.path(), Shard());
  ASSERT_TRUE(shard.Says("it ends with its last worker, or by Ctrl+C")) << shard.Errors();
  shard.Send(SIGTERM);
  EXPECT_EQ(shard.Wait(20), 0) << shard.Errors();
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(ShardLife, WithStayItGoesOnUntilItIsStopped) {
  Process shard(place_.path(), Shard({"--stay"}));
  ASSERT_TRUE(shard.Says("; Ctrl+C stops it")) << shard.Errors();
  for (const char* run : {"one", "two"}) {
    auto arguments = Learner("4");
    arguments.insert(arguments.end(), {"--set", std::string("run.name=") + run});
    const Ran learner = RunMurmurate(place_.path(), arguments);
    EXPECT_EQ(learner.code, 0) << learner.errors;
  }
  EXPECT_TRUE(shard.running());
  nlohmann::json status;
  EXPECT_TRUE(Eventually(20, [&] {  // it counts anew several times a second
    status = nlohmann::json::parse(Says({"status", "r-shard-0", "--json"}));
    return status["models"][0]["version"].get<int>() > 2 * 4;
  })) << status.dump(1);
  EXPECT_TRUE(status["stays"].get<bool>());
  EXPECT_THAT(Says({"stop", "r-shard-0"}), HasSubstr("stopped runs/r-shard-0"));
  EXPECT_EQ(shard.Wait(20), 0) << shard.Errors();
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(ShardLife, StatusShowsShardsBesideTheLearnerAndStopEndsTheLearnerFirst) {
  Process shard(place_.path(), Shard());
  Process learner(place_.path(), Learner(kEndless));
  ASSERT_TRUE(shard.Says("worker 0 joined")) << shard.Errors();
  EXPECT_TRUE(Eventually(
      20, [&] { return Says({"status"}).find("model default: version ") != std::string::npos; }));
  EXPECT_THAT(Says({"status"}),
              AllOf(HasSubstr("run r ("), HasSubstr("shard 0 of 1 ("), HasSubstr(", 1 workers")));
  EXPECT_THAT(Says({"stop"}), HasSubstr("stopped process " + std::to_string(learner.pid())));
  EXPECT_EQ(learner.Wait(20), 0) << learner.Errors();
  EXPECT_EQ(shard.Wait(20), 0) << shard.Errors();
}

TEST_F(ShardLife, AWorkerThatCrashedFindsItsShardWhenItIsResumed) {
  Process shard(place_.path(), Shard());
  {
    Process learner(place_.path(),
                    {"train", "c.toml", "--set", std::string("data.passes=") + kEndless, "--set",
                     "checkpoint.every_s=0.1"});
    ASSERT_TRUE(Eventually(20, [&] {
      return place_.Has("runs/r/checkpoints/latest/weights.safetensors");
    })) << learner.Errors();
    learner.Send(SIGKILL);
    EXPECT_EQ(learner.Wait(20), 128 + SIGKILL);
  }
  Process resumed(place_.path(), {"resume", "r"});
  ASSERT_TRUE(shard.Says("worker 0 is silent")) << shard.Output();
  ASSERT_TRUE(Eventually(20, [&] {
    const std::string said = shard.Output() + shard.Errors();
    return said.find("worker 0 joined") != said.rfind("worker 0 joined");
  })) << resumed.Errors();
  EXPECT_TRUE(shard.running());
  resumed.Send(SIGTERM);
  EXPECT_EQ(resumed.Wait(20), 0) << resumed.Errors();
  EXPECT_EQ(shard.Wait(20), 0) << shard.Errors();
}

TEST_F(ShardLife, ALearnerSaysForWhichShardItWaitsAndDoesNotEndAsIfItHadLearned) {
  const std::string waits = "learning waits for shard 0 (" + Address() +
                            "), which has never answered; start it with `murmurate params CONFIG "
                            "--shard 0`";
  Process learner(place_.path(), Learner("4"));
  ASSERT_TRUE(learner.Says(waits)) << learner.Output() << learner.Errors();
  EXPECT_THAT(Says({"status"}), HasSubstr("waiting: model default: " + waits));
  learner.Send(SIGINT);
  EXPECT_EQ(learner.Wait(20), 5);
  EXPECT_THAT(learner.Errors(), HasSubstr("stopped, and model default has learned nothing: "));
}

TEST_F(ShardLife, ALearnerLearnsFromTheMomentThatItsShardIsThere) {
  Process learner(place_.path(), Learner("4"));
  ASSERT_TRUE(learner.Says("which has never answered")) << learner.Errors();
  Process shard(place_.path(), Shard());
  EXPECT_EQ(learner.Wait(20), 0) << learner.Errors();
  EXPECT_EQ(shard.Wait(20), 0) << shard.Errors();
}

int PortOf(const std::string& address) { return std::stoi(address.substr(address.rfind(':') + 1)); }

TEST(ThreePorts, StatusShowsThemAndATakenOneSaysWhoseItIs) {
  const Workplace place;
  Process first(place.path(), {"serve", "--set", "server.listen=[\"tcp://127.0.0.1:*\"]"});
  ASSERT_TRUE(first.Says("murmurate serves")) << first.Errors();
  const auto address = nlohmann::json::parse(place.Read("runs/serve/address.json"));
  const std::string listen = address["listen"][0];
  const int port = PortOf(listen);
  const Ran status = RunMurmurate(place.path(), {"status"});
  EXPECT_THAT(status.output,
              AllOf(HasSubstr("listening on " + listen + '\n'),
                    HasSubstr("announcing on tcp://127.0.0.1:" + std::to_string(port + 1) +
                              ", weights on tcp://127.0.0.1:" + std::to_string(port + 2) + '\n')));
  const struct {
    int offset;
    const char* ours;
    const char* theirs;
  } kTaken[] = {{1, "first", "second"}, {2, "first", "third"}, {-2, "third", "first"}};
  for (const auto& taken : kTaken) {
    const std::string wanted = "tcp://127.0.0.1:" + std::to_string(port + taken.offset);
    const Ran second = RunMurmurate(place.path(), {"serve", "--set", "run.name=b", "--fresh",
                                                   "--set", "server.listen=[\"" + wanted + "\"]"});
    ASSERT_EQ(second.code, 6) << second.output << second.errors;
    EXPECT_THAT(second.errors, HasSubstr(std::string(", the ") + taken.ours +
                                         " of this learner's three ports, is the " + taken.theirs +
                                         " of the three of "));
    EXPECT_THAT(second.errors, HasSubstr("(process " + std::to_string(first.pid()) +
                                         "), which listens on " + listen));
  }
  first.Send(SIGTERM);
  EXPECT_EQ(first.Wait(20), 0) << first.Errors();
}

}  // namespace
}  // namespace murmurate
