// Several learners, one model, end to end: separate processes, real sockets; and what may die
// meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "shared/model/weights_file.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string LogOf(const Workplace& place, const std::string& path) {
  std::ifstream file(place.path() + '/' + path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Of "Evaluation: mean return 500.0 over 100 episodes"; -1: nothing says so.
double EvaluationIn(const std::string& output) {
  const std::string before = "Evaluation: mean return ";
  const std::size_t at = output.find(before);
  return at == std::string::npos ? -1.0 : std::stod(output.substr(at + before.size()));
}

TEST(ManyLearners, LearnCartPoleTogetherAndLeaveNothingRunning) {
  Workplace place;
  // Under sync and at this rate: asynchronous rules need a lower one (docs/results.md).
  const Ran train = RunMurmurate(
      place.path(), {"train", "cartpole-impala", "--learners", "3", "--shards", "2", "--steps",
                     "3000000", "--set", "optimizer.learning_rate={from=2e-3, to=2e-4}"});
  EXPECT_TRUE(train.code == 0 || train.code == 1) << train.output << train.errors;
  EXPECT_GT(EvaluationIn(train.output), 100.0) << train.output;  // by chance: 20
  EXPECT_THAT(ProcessesOf(place), testing::IsEmpty());
  for (const char* file : {"learner-1/progress.csv", "learner-2/checkpoints/latest/MANIFEST.json",
                           "shard-1/models/default/checkpoints/latest/MANIFEST.json"})
    EXPECT_TRUE(fs::exists(place.path() + "/runs/cartpole-impala/" + file)) << file;
  const auto center =
      ReadWeightsFile(place.path() +
                      "/runs/cartpole-impala/shard-0/models/default/checkpoints/latest/"
                      "weights.safetensors");
  ASSERT_TRUE(center.ok()) << center.status().message();
  EXPECT_GT(center->version, 100u);
}

/// A run around three workers that ends by nothing but a signal.
std::vector<std::string> Endless(const std::string& rule) {
  return {"train",      "cartpole-impala",
          "--learners", "3",
          "--shards",   "2",
          "--set",      "parameters.rule=" + rule,
          "--set",      "run.stop_at_return=100000",
          "--set",      "checkpoint.every_s=0.1",
          "--steps",    "1000000000"};
}

/// Counts merges by the checkpoints of shard 0: the newest number.
std::uint64_t MergesOf(const Workplace& place) {
  std::uint64_t newest = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(
           place.path() + "/runs/cartpole-impala/shard-0/models/default/checkpoints", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-"))
      newest = std::max<std::uint64_t>(newest, std::stoull(name.substr(5)));
  }
  return newest;
}

/// Until shard 0 has made so many merges more than now.
bool GoesOn(const Workplace& place, std::uint64_t merges) {
  const std::uint64_t from = MergesOf(place);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    if (MergesOf(place) >= from + merges) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

class Dying : public testing::TestWithParam<const char*> {};

TEST_P(Dying, WorkersAndShardsHoldNobodyUp) {
  Workplace place;
  Process train(place.path(), Endless(GetParam()));
  ASSERT_TRUE(GoesOn(place, 20)) << train.Errors();
  const auto kill_one = [&](const std::string& text) {
    const auto found = ProcessesOf(place, text);
    ASSERT_FALSE(found.empty()) << text;
    kill(found.front(), SIGKILL);
  };
  for (int round = 0; round < 3; ++round) {
    kill_one("runs/cartpole-impala/shard-" + std::to_string(round % 2));
    ASSERT_TRUE(GoesOn(place, 20)) << "round " << round << train.Errors();
  }
  kill_one("run.name=\"learner-1\"");
  ASSERT_TRUE(GoesOn(place, 20)) << train.Errors();
  kill_one("run.name=\"learner-2\"");
  kill_one("runs/cartpole-impala/shard-1");
  ASSERT_TRUE(GoesOn(place, 20)) << train.Errors();
  train.Send(SIGINT);
  EXPECT_EQ(train.Wait(30), 0) << train.Errors();
  EXPECT_THAT(ProcessesOf(place), testing::IsEmpty());
  EXPECT_THAT(LogOf(place, "runs/cartpole-impala/log.txt"),
              HasSubstr("is started again and goes on from its checkpoint"));
}

INSTANTIATE_TEST_SUITE_P(Rules, Dying, testing::Values("sync", "asgd", "aeasgd"),
                         [](const auto& param) { return std::string(param.param); });

TEST(ManyLearners, WhatDoesNotFitIsRefusedInOneSentence) {
  Workplace place;
  const auto refusal = [&](const std::vector<std::string>& arguments) {
    const Ran ran = RunMurmurate(place.path(), arguments);
    EXPECT_EQ(ran.code, 2) << ran.errors;
    return ran.errors;
  };
  EXPECT_THAT(refusal({"train", "cartpole", "--learners", "2", "--set", "parameters.rule=agd"}),
              HasSubstr("expected \"asgd\" or"));
  EXPECT_THAT(refusal({"train", "cartpole", "--set", "parameters.mode=server"}),
              HasSubstr("needs the addresses of its shards"));
  EXPECT_THAT(refusal({"params", "cartpole", "--shard", "0"}),
              HasSubstr("parameters.mode is \"local\""));
  const std::string shards = "parameters.shards=[\"ipc://" + place.path() + "/s\"]";
  EXPECT_THAT(refusal({"params", "cartpole", "--shard", "1", "--set", "parameters.mode=server",
                       "--set", shards}),
              HasSubstr("expected 0 to 0"));
  EXPECT_THAT(refusal({"train", "cartpole", "--learners", "2", "--set", "parameters.backup=2"}),
              HasSubstr("must be less than parameters.workers"));
  EXPECT_THAT(refusal({"train", "cartpole", "--learners", "2", "--set", "parameters.rule=aeamsgd"}),
              HasSubstr("write name = \"momentum\" in [optimizer]"));
}

TEST(ManyLearners, AShardOfTheSameIndexIsRefused) {
  Workplace place;
  const std::vector<std::string> arguments{
      "params",  "cartpole",
      "--shard", "0",
      "--set",   "parameters.mode=server",
      "--set",   "parameters.shards=[\"ipc://" + place.path() + "/s\"]"};
  Process first(place.path(), arguments);
  ASSERT_TRUE(first.Says("shard 0 of 1 on ")) << first.Errors();
  const Ran same = RunMurmurate(place.path(), arguments);
  EXPECT_EQ(same.code, 6) << same.errors;
  std::vector<std::string> elsewhere = arguments;
  elsewhere.insert(elsewhere.end(), {"--dir", place.path() + "/other"});
  const Ran address = RunMurmurate(place.path(), elsewhere);
  EXPECT_EQ(address.code, 6) << address.errors;
  EXPECT_THAT(address.errors, HasSubstr("is a shard with this index running already?"));
  first.Send(SIGTERM);
  EXPECT_EQ(first.Wait(10), 0) << first.Errors();
}

}  // namespace
}  // namespace murmurate
