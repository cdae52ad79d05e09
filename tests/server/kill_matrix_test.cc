// What goes on after kill -9: {ppo, impala, a2c, ppo with staleness = "block", lock-step, two
// learners around a shard} x {learner, actor, shard}. Real processes; each is killed at a moment of
// chance, and the run must then learn from more steps than it ever had before.
// scripts/kill-matrix.sh repeats it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/server/process.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

constexpr double kPatience = 60;        ///< seconds, on a machine with other work
constexpr std::uint64_t kMore = 5'000;  ///< steps that are learned from before something else dies

std::vector<std::string> Fields(const std::string& row) {
  std::vector<std::string> fields;
  std::istringstream line(row);
  for (std::string field; std::getline(line, field, ',');) fields.push_back(field);
  return fields;
}

class Killed : public ::testing::Test {
 protected:
  Killed() {
    const unsigned seed = std::random_device()();
    random_.seed(seed);
    std::cout << "seed " << seed << '\n';
  }
  /// Of the last whole row of the run's progress.csv; 0 while there is none.
  std::uint64_t Trained() const {
    const std::string text = place_.Read(run_ + "/progress.csv");
    const std::size_t end = text.rfind('\n');
    const std::size_t begin = end == text.npos || end == 0 ? text.npos : text.rfind('\n', end - 1);
    if (begin == text.npos) return 0;
    const auto names = Fields(text.substr(0, text.find('\n')));
    const auto row = Fields(text.substr(begin + 1, end - begin - 1));
    const auto place = std::ranges::find(names, "train/trained_steps") - names.begin();
    return static_cast<std::size_t>(place) < row.size() ? std::stoull(row[place]) : 0;
  }
  bool LearnsBeyond(std::uint64_t steps) const {
    return Eventually(kPatience, [&] { return Trained() > steps; });
  }
  bool LearnsOn() const { return LearnsBeyond(Trained() + kMore); }
  bool HasCheckpoint() const {
    return Eventually(kPatience, [&] {
      std::error_code error;
      return fs::exists(place_.path() + '/' + run_ + "/checkpoints/latest/MANIFEST.json", error);
    });
  }
  /// Within a fifth of a second.
  void AwaitSomeMoment() {
    (void)Eventually(0.2 * static_cast<double>(random_()) / 4294967296.0, [] { return false; });
  }
  void Kill(Process* process) {
    AwaitSomeMoment();
    process->Send(SIGKILL);
    ASSERT_EQ(process->Wait(kPatience), 128 + SIGKILL) << process->Errors();
  }
  /// The first process of the run whose command line holds `text`.
  void Kill(const std::string& text) {
    AwaitSomeMoment();
    std::vector<pid_t> found;
    ASSERT_TRUE(Eventually(kPatience, [&] { return !(found = ProcessesOf(place_, text)).empty(); }))
        << text;
    kill(found.front(), SIGKILL);
  }
  std::unique_ptr<Process> Start(std::vector<std::string> arguments) const {
    return std::make_unique<Process>(place_.path(), std::move(arguments));
  }

  Workplace place_;
  std::string run_;  ///< its folder
  std::mt19937 random_;
};

struct Way {
  const char *name, *algorithm, *pace;
};

class KilledBeside : public Killed, public ::testing::WithParamInterface<Way> {
 protected:
  void SetUp() override {
    run_ = "runs/k";
    place_.Write("k.toml",
                 "[run]\nname = \"k\"\nenvironment = \"cartpole\"\nseed = 3\n"
                 "log_interval_s = 0.05\n[server]\nlisten = [\"" +
                     address_ +
                     "\"]\n[model]\nlayers = [16]\n[evaluation]\nevery = 0\n"
                     "[checkpoint]\nevery_steps = 20000\nevery_s = 0\n"
                     "[algorithm]\ntrajectory_length = 32\nbatch_steps = 256\n" +
                     GetParam().algorithm);
  }
  std::unique_ptr<Process> Actor(const std::string& name) const {
    return Start({"actor", "cartpole", "--connect", address_, "--pace", GetParam().pace, "--agents",
                  "2", "--name", name});
  }
  int LiveActors() const {
    const auto status = nlohmann::json::parse(
        RunMurmurate(place_.path(), {"status", "k", "--json"}).output, nullptr, false);
    if (!status.is_object()) return 0;
    return static_cast<int>(std::ranges::count_if(
        status["actors"], [](const auto& actor) { return actor["health"] == "live"; }));
  }
  const std::string address_ = "ipc://" + place_.path() + "/main";
};
INSTANTIATE_TEST_SUITE_P(
    , KilledBeside,
    ::testing::Values(Way{"ppo", "minibatch = 64\nepochs = 2\n", "credit"},
                      Way{"impala", "name = \"impala\"\n", "credit"},
                      Way{"a2c", "name = \"a2c\"\n", "credit"},
                      Way{"block", "minibatch = 64\nepochs = 2\nstaleness = \"block\"\n", "credit"},
                      Way{"lockstep", "minibatch = 64\nepochs = 2\n", "lockstep"}),
    [](const auto& way) { return std::string(way.param.name); });

TEST_P(KilledBeside, WhatIsLeftOfALearnerAndItsActorsLearnsOn) {
  auto learner = Start({"serve", "k.toml", "--quiet"});
  auto first = Actor("first"), second = Actor("second");
  ASSERT_TRUE(HasCheckpoint()) << learner->Errors();

  Kill(first.get());
  ASSERT_TRUE(LearnsOn()) << "without one of its actors; " << learner->Errors();

  first = Actor("third");
  ASSERT_TRUE(LearnsOn());
  Kill(learner.get());
  std::uint64_t before = Trained();
  learner = Start({"resume", "k", "--quiet"});
  ASSERT_TRUE(LearnsBeyond(before)) << "its actors are those of before; " << learner->Errors();

  Kill(learner.get());
  Kill(first.get());
  before = Trained();
  learner = Start({"resume", "k", "--quiet"});
  first = Actor("fourth");
  ASSERT_TRUE(LearnsBeyond(before)) << "one of its actors is new; " << learner->Errors();

  ASSERT_TRUE(Eventually(kPatience, [&] { return LiveActors() == 2; })) << learner->Errors();
  learner->Send(SIGTERM);
  EXPECT_EQ(learner->Wait(kPatience), 0) << learner->Errors();
  for (Process* actor : {first.get(), second.get()})
    EXPECT_EQ(actor->Wait(kPatience), 0) << actor->Errors();
  EXPECT_EQ(place_.LeftBehind(), "");
}

/// Two learners with two actors each around a shard.
class KilledTogether : public Killed {
 protected:
  void SetUp() override { run_ = "runs/cartpole"; }
  /// Returns when `train` has started another one; a batch or two may be learned before that.
  void KillShard() {
    const std::string shard = "runs/cartpole/shard-0";
    const std::vector<pid_t> before = ProcessesOf(place_, shard);
    Kill(shard);
    ASSERT_TRUE(Eventually(kPatience, [&] {
      const std::vector<pid_t> now = ProcessesOf(place_, shard);
      return !now.empty() && now != before;
    }));
  }
};

TEST_F(KilledTogether, WhatIsLeftOfTwoLearnersAndAShardLearnsOn) {
  auto train = Start({"train", "cartpole", "--quiet", "--learners", "2", "--shards", "1", "--set",
                      "run.stop_at_return=100000", "--set", "run.steps=1000000000", "--set",
                      "run.actors=4", "--set", "checkpoint.every_s=0.2", "--set",
                      "evaluation.every=0", "--set", "run.log_interval_s=0.05"});
  ASSERT_TRUE(HasCheckpoint()) << train->Errors();
  const std::string other = run_ + "/learner-1/address.json";  // who dies before it ends the run
  ASSERT_TRUE(Eventually(kPatience, [&] { return place_.Has(other); })) << train->Errors();
  ASSERT_TRUE(LearnsOn()) << train->Errors();

  KillShard();
  ASSERT_TRUE(LearnsOn()) << "the shard is started again; " << train->Errors();
  Kill("actor-0");
  ASSERT_TRUE(LearnsOn()) << "without one of its actors; " << train->Errors();
  Kill("run.name=\"learner-1\"");
  ASSERT_TRUE(LearnsOn()) << "without the other learner; " << train->Errors();
  Kill(train.get());
  ASSERT_TRUE(Eventually(kPatience, [&] { return ProcessesOf(place_).empty(); }));

  const std::uint64_t before = Trained();
  train = Start({"resume", "cartpole", "--quiet"});
  ASSERT_TRUE(LearnsBeyond(before)) << train->Errors();
  KillShard();
  ASSERT_TRUE(LearnsOn()) << "the shard is started again; " << train->Errors();
  train->Send(SIGINT);
  EXPECT_EQ(train->Wait(kPatience), 0) << train->Errors();
  EXPECT_TRUE(ProcessesOf(place_).empty());
  EXPECT_EQ(place_.LeftBehind(), "") << train->Errors() << place_.Read(run_ + "/log.txt")
                                     << place_.Read(run_ + "/shard-0/log.txt");
}

}  // namespace
}  // namespace murmurate
