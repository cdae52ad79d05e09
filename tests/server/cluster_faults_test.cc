// Several learners of which some die: separate processes, real sockets, kill -9 at random moments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/server/cluster_stage.h"
#include "tests/server/corners.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Seven learners of files without end around two shards.
class Dying : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const unsigned seed = std::random_device()();
    random_.seed(seed);
    std::cout << "seed " << seed << '\n';
    WriteCorners(place_);
    place_.Write("c.toml", Corners("r"));
  }
  std::vector<std::string> Endless() const {
    return {"train",      "c.toml",
            "--learners", "7",
            "--shards",   "2",
            "--set",      std::string("parameters.rule=") + GetParam(),
            "--set",      "checkpoint.every_s=0.1",
            "--set",      "data.holdout=0",
            "--set",      "data.passes=1000000000"};
  }
  /// Within a third of a second.
  void AwaitSomeMoment(Process& train) {
    const double seconds = 0.3 * static_cast<double>(random_()) / 4294967296.0;
    ASSERT_FALSE(Eventually(seconds, [&] { return !train.running(); })) << train.Errors();
  }
  void Kill(const std::string& text) {
    std::vector<pid_t> found;
    ASSERT_TRUE(Eventually(20, [&] { return !(found = ProcessesOf(place_, text)).empty(); }))
        << text;
    kill(found.front(), SIGKILL);
  }
  /// One that has begun: whoever dies before ends the run.
  void KillAWorker() {
    const std::string name = "learner-" + std::to_string(next_worker_++);
    ASSERT_TRUE(Eventually(20, [&] { return place_.Has("runs/r/" + name + "/address.json"); }));
    Kill("run.name=\"" + name + '"');
  }
  void KillAShard() { Kill("runs/r/shard-" + std::to_string(random_() % 2)); }

  /// Workers number their pushes: one that is missing was lost, one too many merged twice.
  void ExpectAsManyMergesAsPushes() const {
    for (const char* shard : {"shard-0", "shard-1"}) {
      const auto state = nlohmann::json::parse(place_.Read(
          std::string("runs/r/") + shard + "/models/default/checkpoints/latest/state.json"));
      const auto& workers = state["words"]["shard.workers"];
      ASSERT_EQ(workers.size(), 7 * 6u);  // id, number, step, pulled, pushes, member
      std::uint64_t pushes = 0;
      for (std::size_t i = 2; i < workers.size(); i += 6)
        pushes += std::stoull(workers[i].get<std::string>());
      EXPECT_EQ(std::stoull(state["version"].get<std::string>()), pushes) << shard;
    }
  }

  Workplace place_;
  std::mt19937 random_;
  int next_worker_ = 1;
};

TEST_P(Dying, WorkersShardsAndBothHoldNobodyUp) {
  Process train(place_.path(), Endless());
  ASSERT_TRUE(GoesOn(place_, "runs/r", 20)) << train.Errors();
  for (int trial = 0; trial < 9; ++trial) {
    AwaitSomeMoment(train);
    if (trial % 3 != 1) KillAWorker();
    if (trial % 3 != 0) KillAShard();
    if (HasFatalFailure()) return;
    ASSERT_TRUE(GoesOn(place_, "runs/r", 20)) << "trial " << trial << '\n' << train.Errors();
  }
  train.Send(SIGINT);
  EXPECT_EQ(train.Wait(30), 0) << train.Errors();
  EXPECT_THAT(ProcessesOf(place_), IsEmpty());
  EXPECT_THAT(place_.Read("runs/r/log.txt"),
              HasSubstr("is started again and goes on from its checkpoint"));
  if (std::string(GetParam()) == "asgd") ExpectAsManyMergesAsPushes();
}

INSTANTIATE_TEST_SUITE_P(Rules, Dying, testing::Values("sync", "asgd", "aeasgd"),
                         [](const auto& param) { return std::string(param.param); });

/// Three learners with an actor each around two shards, all of them there, without end.
class Ending : public testing::Test {
 protected:
  void SetUp() override {
    train_ = std::make_unique<Process>(
        place_.path(),
        std::vector<std::string>{"train", "cartpole", "--learners", "3", "--shards", "2", "--set",
                                 "run.stop_at_return=100000", "--set", "run.steps=1000000000",
                                 "--set", "run.actors=3", "--set", "checkpoint.every_s=0.1"});
    ASSERT_TRUE(GoesOn(place_, "runs/cartpole", 5)) << train_->Errors();
    ASSERT_THAT(ProcessesOf(place_), testing::SizeIs(3 + 3 + 2));
  }
  Workplace place_;
  std::unique_ptr<Process> train_;
};

TEST_F(Ending, CtrlCEndsAll) {
  train_->Send(SIGINT);
  EXPECT_EQ(train_->Wait(30), 0) << train_->Errors();
  EXPECT_THAT(ProcessesOf(place_), IsEmpty());
  EXPECT_EQ(place_.LeftBehind(), "");
  for (const char* shard : {"shard-0", "shard-1"})  // so a resume need not wait until it is missed
    EXPECT_THAT(place_.Read(std::string("runs/cartpole/") + shard + "/log.txt"),
                HasSubstr("worker 0 has left; 0 are left"));
}

TEST_F(Ending, TheDeathOfTheFirstLearnerEndsAll) {
  train_->Send(SIGKILL);
  EXPECT_EQ(train_->Wait(30), 128 + SIGKILL);
  EXPECT_TRUE(Eventually(30, [&] { return ProcessesOf(place_).empty(); }));
}

TEST(ManyLearners, EndByThemselvesAndLeaveNothing) {
  const Workplace place;
  const Ran train =
      RunMurmurate(place.path(),
                   {"train", "cartpole", "--learners", "3", "--shards", "2", "--steps", "30000",
                    "--set", "run.stop_at_return=100000", "--set", "run.actors=3"},
                   60);
  EXPECT_EQ(train.code, 1) << train.errors;  // its budget is spent
  EXPECT_THAT(ProcessesOf(place), IsEmpty());
  EXPECT_EQ(place.LeftBehind(), "");
}

}  // namespace
}  // namespace murmurate
