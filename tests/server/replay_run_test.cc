// Learning from a replay by real processes: what a run says and does while nothing is played.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

/// A run of dqn on CartPole that does not end by itself, and its one actor.
class ReplayRun : public ::testing::Test {
 protected:
  std::vector<std::string> Serve() const {
    return {"serve", "--quiet",
            "--set", "run.name=r",
            "--set", "server.listen=[\"" + address_ + "\"]",
            "--set", "run.environment=\"cartpole\"",
            "--set", "algorithm.name=\"dqn\"",
            "--set", "algorithm.trajectory_length=8",
            "--set", "algorithm.batch_steps=64",
            "--set", "model.layers=[16]",
            "--set", "replay.samples_per_insert=8",
            "--set", "evaluation.every=0"};
  }
  nlohmann::json Status() const {
    return nlohmann::json::parse(RunMurmurate(place_.path(), {"status", "--json"}).output, nullptr,
                                 false);
  }
  std::string Waiting() const {
    const auto status = Status();
    return status.is_object() ? status["waiting"].dump() : "";
  }
  double Updates() const {
    const auto status = Status();
    if (!status.is_object() || status["models"].empty()) return 0;
    const auto& updates = status["models"][0]["updates"];
    return updates.is_number() ? updates.get<double>() : 0;
  }

  const Workplace place_;
  const std::string address_ = "ipc://" + place_.path() + "/main";
};

TEST_F(ReplayRun, AStoppedActorEndsTheUpdatesUntilItGoesOnAndStatusSaysWhy) {
  Process serve(place_.path(), Serve());
  ASSERT_TRUE(Eventually(20, [&] {
    return Waiting().find("model default: collects 0 of 1,000 steps") != std::string::npos ||
           place_.Has("runs/r/address.json");
  })) << serve.Errors();
  Process actor(place_.path(),
                {"actor", "cartpole", "--connect", address_, "--agents", "8", "--pace", "credit"});
  ASSERT_TRUE(Eventually(20, [&] { return Updates() > 200; })) << serve.Errors();
  actor.Send(SIGSTOP);
  const std::string sentence = "model default: learner waits for experience: ";
  ASSERT_TRUE(Eventually(6, [&] { return Waiting().find(sentence) != std::string::npos; }))
      << Status().dump(1);
  const nlohmann::json stopped = Status();
  const double updates = stopped["models"][0]["updates"];
  const double steps = stopped["models"][0]["learned_steps"];
  EXPECT_EQ(updates, std::floor((steps - 1000) * 8 / 128)) << "all that was allowed, and no more";
  EXPECT_FALSE(Eventually(1.5, [&] { return Updates() != updates; })) << "it learned offline";
  EXPECT_THAT(RunMurmurate(place_.path(), {"status"}).output, HasSubstr("waiting: " + sentence));
  EXPECT_THAT(place_.Read("runs/r/log.txt"), HasSubstr(sentence));
  actor.Send(SIGCONT);
  EXPECT_TRUE(Eventually(20, [&] { return Updates() > updates + 200; }));
  EXPECT_TRUE(Eventually(5, [&] { return Waiting().find(sentence) == std::string::npos; }));
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(10), 0) << serve.Errors();
  (void)actor.Wait(10);
}

/// Only the evaluation of the last weights reaches the return: too few episodes end in training for
/// its mean to count. `train` and `serve` of the same config have the same exit code.
TEST(SolvedByTheLastEvaluation, IsASuccessOfServeAsOfTrain) {
  const Workplace place;
  place.Write("c.toml",
              "[run]\nenvironment = \"cartpole\"\nactors = 1\nagents = 4\nsteps = 1500\n"
              "stop_at_return = 8.5\n[model]\nlayers = [16]\n[evaluation]\nevery = 1\n"
              "[algorithm]\nname = \"dqn\"\ntrajectory_length = 8\nbatch_steps = 64\n"
              "[replay]\nlearning_starts = 200\n");
  const Ran train = RunMurmurate(place.path(), {"train", "c.toml", "--quiet"}, 60);
  EXPECT_EQ(train.code, 0) << train.errors;
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(),
                {"serve", "c.toml", "--quiet", "--set", "run.name=s", "--listen", address});
  Process actor(place.path(), {"actor", "cartpole", "--connect", address, "--agents", "4"});
  EXPECT_EQ(serve.Wait(60), 0) << serve.Errors();
  const Ran high = RunMurmurate(
      place.path(), {"train", "c.toml", "--quiet", "--set", "run.stop_at_return=501"}, 60);
  EXPECT_EQ(high.code, 1) << "no return of this game reaches that";
}

}  // namespace
}  // namespace murmurate
