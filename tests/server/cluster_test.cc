// Several learners, one model, end to end: separate processes, real sockets. What may die meanwhile
// is in cluster_faults_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "shared/model/weights_file.h"
#include "tests/server/cluster_stage.h"
#include "tests/server/corners.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

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
              HasSubstr("write name = \"momentum\" and learning_rate = 0.1 in [optimizer]"));
}

/// The deviation by which the learner of a run divided its last rewards.
double RewardDeviation(const Workplace& place, const std::string& run) {
  const auto state = nlohmann::json::parse(
      place.Read("runs/" + run + "/checkpoints/latest/state.json"), nullptr, false);
  if (state.is_discarded()) return -1.0;
  const auto& moments = state.at("doubles").at("rewards.statistics");
  return std::sqrt(std::stod(moments.at(2).get<std::string>()) /
                   std::stod(moments.at(0).get<std::string>()));
}

TEST(ManyLearners, WhoseGamesHaveOtherRewardsDivideByOneDeviation) {
  Workplace place;
  const auto with = [&](const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{command, "cartpole", "--quiet"};
    for (const std::string& set : std::vector<std::string>{
             "parameters.mode=server", "parameters.rule=sync", "parameters.workers=2",
             "parameters.shards=[\"ipc://" + place.path() + "/s\"]", "run.steps=16000",
             "run.stop_at_return=1000000", "evaluation.every=0"})
      arguments.insert(arguments.end(), {"--set", set});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  };
  Process shard(place.path(), with("params", {"--shard", "0"}));
  Process small(place.path(), with("train", {"--set", "run.name=small"}));
  Process large(place.path(),
                with("train", {"--set", "run.name=large", "--set", "parameters.worker=1", "--set",
                               "environment.reward_scale=1000"}));
  EXPECT_EQ(small.Wait(60), 1) << small.Errors();
  EXPECT_EQ(large.Wait(60), 1) << large.Errors();
  EXPECT_EQ(shard.Wait(30), 0) << shard.Errors();
  const double deviation = RewardDeviation(place, "small");
  EXPECT_GT(deviation, 1000.0);
  EXPECT_NEAR(RewardDeviation(place, "large") / deviation, 1.0, 0.5);
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

/// A shard and learners that are started one by one, as on several hosts.
class ByHand : public testing::Test {
 protected:
  void SetUp() override {
    WriteCorners(place_);
    place_.Write("c.toml", Corners("r"));
  }
  std::vector<std::string> With(const std::string& command, const std::string& run,
                                const std::vector<std::string>& shards,
                                const std::vector<std::string>& more) const {
    std::string list;
    for (const std::string& name : shards)
      list += (list.empty() ? "" : ", ") + ("\"ipc://" + place_.path() + '/' + name + '"');
    std::vector<std::string> arguments{command, "c.toml",
                                       "--set", "parameters.mode=server",
                                       "--set", "parameters.rule=asgd",
                                       "--set", "parameters.shards=[" + list + "]",
                                       "--set", "run.name=" + run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  std::string Refusal(const std::vector<std::string>& shards,
                      const std::vector<std::string>& more = {}) const {
    const Ran ran = RunMurmurate(place_.path(), With("train", "other", shards, more), 30);
    EXPECT_EQ(ran.code, 2) << ran.output << ran.errors;
    EXPECT_EQ(std::count(ran.errors.begin(), ran.errors.end(), '\n'), 1) << ran.errors;
    return ran.errors;
  }
  Workplace place_;
};

TEST_F(ByHand, AShardRefusesWhoDoesNotFitInOneSentence) {
  Process shard(place_.path(), With("params", "r", {"a"}, {"--shard", "0"}));
  ASSERT_TRUE(shard.Says("shard 0 of 1 on ")) << shard.Errors();
  Process learner(place_.path(),
                  With("train", "first", {"a"}, {"--set", "data.passes=1000000000"}));
  ASSERT_TRUE(shard.Says("worker 0 joined")) << shard.Errors();
  const std::vector<std::string> other{"--set", "parameters.worker=1"};
  EXPECT_THAT(Refusal({"a", "b"}, other), HasSubstr("together they do not cover the model"));
  EXPECT_THAT(Refusal({"a"}, {"--set", "parameters.worker=1", "--set", "model.layers=[8]"}),
              HasSubstr("another model than this shard"));
  EXPECT_THAT(Refusal({"a"}, {"--set", "parameters.worker=1", "--set", "parameters.rule=agn"}),
              HasSubstr("start both with the same config"));
  EXPECT_THAT(Refusal({"a"}), HasSubstr("there is a worker 0 already"));
  learner.Send(SIGTERM);
  EXPECT_EQ(learner.Wait(20), 0) << learner.Errors();
  shard.Send(SIGTERM);
  EXPECT_EQ(shard.Wait(20), 0) << shard.Errors();
}

TEST_F(ByHand, AShardThatDiedBeforeItsFirstCheckpointBeginsAgain) {
  const std::vector<std::string> arguments = With("params", "r", {"a"}, {"--shard", "0"});
  {
    Process shard(place_.path(), arguments);
    ASSERT_TRUE(shard.Says("shard 0 of 1 on ")) << shard.Errors();
    shard.Send(SIGKILL);
    EXPECT_EQ(shard.Wait(10), 128 + SIGKILL);
  }
  fs::create_directories(place_.path() + "/runs/r-shard-0/models/default");  // its first act
  Process again(place_.path(), arguments);
  EXPECT_TRUE(again.Says("shard 0 of 1 on ")) << again.Errors();
  again.Send(SIGTERM);
  EXPECT_EQ(again.Wait(10), 0) << again.Errors();
}

class Repeats : public testing::TestWithParam<const char*> {};

/// Weights, of which every bit is compared.
TEST_P(Repeats, WithABarrierTheSameSeedGivesTheSameBits) {
  Workplace place;
  WriteCorners(place);
  place.Write("c.toml", Corners("r"));
  std::vector<std::string> weights;
  for (const char* run : {"one", "two"}) {
    const Ran train = RunMurmurate(
        place.path(),
        {"train", "c.toml", "--quiet", "--learners", "3", "--shards", "2", "--set",
         std::string("parameters.rule=") + GetParam(), "--set", std::string("run.name=") + run},
        60);
    ASSERT_EQ(train.code, 0) << train.errors;
    const std::string folder = std::string("runs/") + run;
    weights.push_back(place.Read(folder + "/checkpoints/latest/weights.safetensors"));
    EXPECT_FALSE(weights.back().empty());
    EXPECT_GT(MergesOf(place, folder), 10u);
    EXPECT_LT(LastOf(place.Read(folder + "/progress.csv"), "eval/loss"), 0.5);  // guessing: 1.39
  }
  EXPECT_TRUE(weights[0] == weights[1]);
}

INSTANTIATE_TEST_SUITE_P(Rules, Repeats, testing::Values("sync", "sagn", "easgd"),
                         [](const auto& param) { return std::string(param.param); });

// 2,400 of 3,000 are learned from: 600 a pass for each of four, 800 for each of three.
TEST(ManyLearners, DivideTheFilesAndGoOnOnlyAsManyAsTheyWere) {
  Workplace place;
  WriteCorners(place);
  place.Write("c.toml", Corners("r"));
  const auto steps = [&](const std::string& run) {
    return LastOf(place.Read("runs/" + run + "/progress.csv"), "time/total_timesteps");
  };
  const Ran stopped = RunMurmurate(
      place.path(), {"train", "c.toml", "--learners", "4", "--set", "run.stop_at_steps=8000"}, 60);
  ASSERT_EQ(stopped.code, 0) << stopped.errors;  // 2,000 each: 3 passes and a batch of 512
  EXPECT_EQ(steps("r"), 2312);
  const Ran fewer = RunMurmurate(
      place.path(), {"resume", "r", "--set", "run.stop_at_steps=90000", "--set", "run.learners=3"},
      60);
  EXPECT_EQ(fewer.code, 2) << fewer.output;
  EXPECT_THAT(fewer.errors, HasSubstr("learners that divide the files: the run was stopped with 4 "
                                      "and cannot go on with 3"));
  EXPECT_THAT(ProcessesOf(place), testing::IsEmpty());
  const Ran resumed =
      RunMurmurate(place.path(), {"resume", "r", "--set", "run.stop_at_steps=90000"}, 60);
  EXPECT_EQ(resumed.code, 0) << resumed.errors;
  EXPECT_EQ(steps("r"), 12 * 600);
  const Ran more = RunMurmurate(place.path(), {"resume", "r", "--set", "data.passes=24"}, 60);
  EXPECT_EQ(more.code, 0) << more.errors;
  EXPECT_EQ(steps("r"), 24 * 600);
  for (const char* other : {"r/learner-1", "r/learner-2", "r/learner-3"})
    EXPECT_GT(steps(other), 23 * 600) << other;  // they may be told to stop in their last batch
  const Ran whole = RunMurmurate(place.path(),
                                 {"train", "c.toml", "--learners", "4", "--set", "run.name=whole",
                                  "--set", "data.divide=false"},
                                 60);
  EXPECT_EQ(whole.code, 0) << whole.errors;
  EXPECT_EQ(steps("whole"), 12 * 2400);
  for (const char* command : {"train", "check"}) {
    const Ran many = RunMurmurate(
        place.path(),
        {command, "c.toml", "--set", "run.learners=1000", "--set", "data.holdout=0.8"}, 60);
    EXPECT_EQ(many.code, 3) << many.output;
    EXPECT_THAT(many.errors, HasSubstr("too few to divide among 1000 learners"));
  }
}

TEST(ManyLearners, ALearnerThatCannotBeginEndsTheRunWithItsName) {
  Workplace place;
  WriteCorners(place);
  place.Write("c.toml", Corners("r"));
  const Ran stopped = RunMurmurate(
      place.path(), {"train", "c.toml", "--learners", "2", "--set", "run.stop_at_steps=8000"}, 60);
  ASSERT_EQ(stopped.code, 0) << stopped.errors;
  fs::remove_all(place.path() + "/runs/r/learner-1/checkpoints");
  const Ran resumed = RunMurmurate(
      place.path(),
      {"resume", "r", "--set", "run.stop_at_steps=1000000000", "--set", "data.passes=1000000000"},
      60);
  EXPECT_NE(resumed.code, 0) << resumed.output;
  EXPECT_THAT(resumed.errors, HasSubstr("a learner could not begin (process "));
  EXPECT_THAT(resumed.errors, HasSubstr("its log.txt, in the run's folder, says why"));
  EXPECT_THAT(ProcessesOf(place), testing::IsEmpty());
}

// It hangs in opening its files, of which one is a pipe that nobody writes to.
TEST(ManyLearners, ALearnerThatIsKilledAsItBeginsEndsTheRunToo) {
  Workplace place;
  WriteCorners(place);
  place.Write("c.toml", Corners("r"));
  const Ran stopped = RunMurmurate(
      place.path(), {"train", "c.toml", "--learners", "2", "--set", "run.stop_at_steps=8000"}, 60);
  ASSERT_EQ(stopped.code, 0) << stopped.errors;
  const std::string pipe = place.path() + "/pipe.npy";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string config = place.Read("runs/r/learner-1/config.toml");
  const std::size_t at = config.find("x.npy");
  ASSERT_NE(at, config.npos);
  place.Write("runs/r/learner-1/config.toml", config.replace(at, 5, "pipe.npy"));
  place.Write("runs/r/learner-1/address.json", "{}");  // of an earlier life that was killed, too
  Process resumed(place.path(), {"resume", "r", "--set", "run.stop_at_steps=1000000000", "--set",
                                 "data.passes=1000000000"});
  std::vector<pid_t> found;
  ASSERT_TRUE(
      Eventually(20, [&] { return !(found = ProcessesOf(place, "resume runs/r/")).empty(); }));
  kill(found.front(), SIGKILL);
  EXPECT_NE(resumed.Wait(30), 0);
  EXPECT_THAT(resumed.Errors(), HasSubstr("a learner could not begin (process "));
  EXPECT_THAT(resumed.Errors(), HasSubstr("was ended by signal 9); start the run again"));
  EXPECT_TRUE(Eventually(20, [&] { return ProcessesOf(place).empty(); }));
}

}  // namespace
}  // namespace murmurate
