// `mpirun -n N murmurate train`, end to end: processes that average their gradients over MPI, how
// they end together, and what a dead one leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/sanitized.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class UnderMpirun : public testing::Test {
 protected:
  void SetUp() override {
    if (std::system("command -v mpirun >/dev/null") != 0) GTEST_SKIP() << "mpirun is not installed";
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    if (kSanitized) setenv("LSAN_OPTIONS", "detect_leaks=0", 1);  // MPI keeps memory to its end
  }

  static std::vector<std::string> Ranks(int count) {
    return {"mpirun", "--oversubscribe",    "--mca", "btl", "self,vader",
            "--mca",  "oob_tcp_if_include", "lo",    "-n",  std::to_string(count)};
  }

  /// A run of CartPole that ends by nothing but a signal; about 10 batches a second and rank.
  static std::vector<std::string> Endless(const std::string& run) {
    return {"train",
            "cartpole",
            "--quiet",
            "--set",
            "run.name=" + run,
            "--set",
            "run.actors=2",
            "--set",
            "parameters.collective=mpi",
            "--set",
            "run.agents=1",
            "--set",
            "run.stop_at_return=100000",
            "--set",
            "checkpoint.every_s=0.2",
            "--set",
            "evaluation.every=0",
            "--steps",
            "1000000000"};
  }

  /// The numbers alone: what the header says of steps is each rank's own. "": there are none.
  std::string Weights(const std::string& run) const {
    const std::string file = place.Read("runs/" + run + "/checkpoints/latest/weights.safetensors");
    std::uint64_t header = 0;
    if (file.size() < sizeof header) return "";
    std::memcpy(&header, file.data(), sizeof header);
    return file.substr(sizeof header + header);
  }

  /// Both of two ranks.
  bool HaveCheckpoints(const std::string& run) const {
    return !Weights(run).empty() && !Weights(run + "/learner-1").empty();
  }

  /// Of its progress.csv so far.
  /// train/updates of the last row.
  long Updates(const std::string& run) const {
    std::istringstream rows(place.Read("runs/" + run + "/progress.csv"));
    std::string row, last, field;
    while (std::getline(rows, row)) last = row;
    std::istringstream fields(last);
    for (int i = 0; i < 5; ++i) std::getline(fields, field, ',');
    return std::atol(field.c_str());
  }
  std::ptrdiff_t Lines(const std::string& run) const {
    const std::string csv = place.Read("runs/" + run + "/progress.csv");
    return std::count(csv.begin(), csv.end(), '\n');
  }

  /// Stops a run over files in the middle of them; the steps that rank 0 has learned from.
  std::uint64_t StopInTheMiddle(Process& run) const {
    const auto before = Lines("mpi");
    EXPECT_TRUE(Eventually(60, [&] { return Lines("mpi") > before + 1; })) << run.Errors();
    const Ran stop = RunMurmurate(place.path(), {"stop", "runs/mpi"});
    EXPECT_EQ(stop.code, 0) << stop.errors;
    EXPECT_EQ(run.Wait(60), 0) << run.Errors();
    const std::string output = run.Output(), said = "Done: ";
    std::string steps = output.substr(std::min(output.size(), output.rfind(said)));
    EXPECT_THAT(steps, HasSubstr("steps learned"));
    steps.erase(std::remove(steps.begin(), steps.end(), ','), steps.end());
    return std::strtoull(steps.c_str() + said.size(), nullptr, 10);
  }

  /// Nobody runs, nothing lies about.
  void ExpectNothingLeft(const std::string& run) const {
    EXPECT_TRUE(Eventually(5, [&] { return ProcessesOf(place).empty(); }));
    EXPECT_EQ(place.LeftBehind(), "");
    EXPECT_EQ(SegmentsOf(run), 0);
  }

  Workplace place;
};

TEST_F(UnderMpirun, RanksEndTogetherWithTheSameBitsAndGoOnWithThem) {
  const std::vector<std::string> command{"train", "mpi", "--set", "data.passes=60"};
  Process train(place.path(), command, Ranks(3));
  ASSERT_EQ(train.Wait(60), 0) << train.Errors();
  EXPECT_THAT(train.Output(), HasSubstr("Done: 20,040 steps learned"));  // 334 of 1,000 items each
  EXPECT_EQ(train.Output().find("Done: ", train.Output().find("Done: ") + 1), std::string::npos);
  const std::string weights = Weights("mpi");
  ASSERT_GT(weights.size(), 0u);
  EXPECT_EQ(Weights("mpi/learner-1"), weights);
  EXPECT_EQ(Weights("mpi/learner-2"), weights);
  ExpectNothingLeft("mpi");

  Process again(place.path(), command, Ranks(3));  // takes the next name
  ASSERT_EQ(again.Wait(60), 0) << again.Errors();
  EXPECT_EQ(Weights("mpi-2"), weights) << "a run over files is not the same each time";
  EXPECT_EQ(Weights("mpi-2/learner-1"), weights);

  const std::vector<std::string> more{"resume", "runs/mpi", "--set", "data.passes=90"};
  Process resume(place.path(), more, Ranks(3));
  ASSERT_EQ(resume.Wait(60), 0) << resume.Errors();
  EXPECT_THAT(resume.Output(), HasSubstr("Done: 30,060 steps learned"));
  Process whole(place.path(),
                {"train", "mpi", "--set", "data.passes=90", "--set", "run.name=whole"}, Ranks(3));
  ASSERT_EQ(whole.Wait(60), 0) << whole.Errors();
  EXPECT_NE(Weights("mpi"), weights);
  EXPECT_EQ(Weights("mpi"), Weights("whole")) << "a resumed run is not the one never stopped";
  EXPECT_EQ(Weights("mpi/learner-2"), Weights("whole"));

  Process over(place.path(), more, Ranks(3));
  EXPECT_EQ(over.Wait(60), 0) << over.Errors();
  EXPECT_THAT(over.Output(), HasSubstr("has been through its files 90 times already"));
  ExpectNothingLeft("mpi");
}

// A rank that was told to stop while it waited for the others once stayed a batch behind them.
TEST_F(UnderMpirun, StoppedAgainAndAgainARunIsTheOneNeverStopped) {
  Process first(place.path(), {"train", "mpi", "--set", "data.passes=1000000"}, Ranks(2));
  std::uint64_t steps = StopInTheMiddle(first);
  for (int i = 0; i < 4; ++i) {
    Process more(place.path(), {"resume", "runs/mpi"}, Ranks(2));
    steps = StopInTheMiddle(more);
    EXPECT_EQ(Weights("mpi"), Weights("mpi/learner-1"));
  }
  const Ran other = RunMurmurate(place.path(), {"resume", "runs/mpi"});
  EXPECT_EQ(other.code, 2) << other.output;
  EXPECT_THAT(other.errors, HasSubstr("the run was stopped with 2 and cannot go on with 1"));
  const std::uint64_t count = steps / 500 + 10;  // a pass is 500 of 1,000 items for each rank
  const std::string passes = "data.passes=" + std::to_string(count);
  Process end(place.path(), {"resume", "runs/mpi", "--set", passes}, Ranks(2));
  ASSERT_EQ(end.Wait(100), 0) << end.Errors();
  Process whole(place.path(), {"train", "mpi", "--set", passes, "--set", "run.name=whole"},
                Ranks(2));
  ASSERT_EQ(whole.Wait(100), 0) << whole.Errors();
  const std::string line = whole.Output().substr(whole.Output().find("Done: "));
  EXPECT_THAT(end.Output(), HasSubstr(line.substr(0, line.find(" learned"))));
  EXPECT_EQ(Weights("mpi"), Weights("whole"));
  EXPECT_EQ(Weights("mpi/learner-1"), Weights("whole"));
  ExpectNothingLeft("mpi");
}

// Rank 1 stands still for longer than the 3 s that a learner alone is given, with rank 0 inside a
// batch of 400 sums.
TEST_F(UnderMpirun, ALongBatchIsWaitedForWhenTheJobStops) {
  Process train(place.path(),
                {"train", "mpi", "--set", "data.passes=1000000", "--set", "algorithm.epochs=100"},
                Ranks(2));
  // A rank that is stopped before its first batch has begun leaves that batch to the others.
  ASSERT_TRUE(Eventually(60, [&] { return Updates("mpi") > 0 && Updates("mpi/learner-1") > 0; }));
  const std::vector<pid_t> ranks = train.Children();
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1], SIGSTOP);
  Process stop(place.path(), {"stop", "runs/mpi"});  // waits for the end
  EXPECT_EQ(train.Wait(4), -1) << train.Errors();
  kill(ranks[1], SIGCONT);
  EXPECT_EQ(stop.Wait(20), 0) << stop.Errors();
  EXPECT_EQ(train.Wait(60), 0) << train.Errors();
  EXPECT_THAT(train.Output(), HasSubstr("steps learned"));
  ASSERT_GT(Weights("mpi").size(), 0u);
  EXPECT_EQ(Weights("mpi/learner-1"), Weights("mpi"));
  ExpectNothingLeft("mpi");
}

TEST_F(UnderMpirun, ARankWithoutACheckpointBeginsAnewBesideTheOthers) {
  Process train(place.path(), {"train", "mpi", "--set", "data.passes=20"}, Ranks(2));
  ASSERT_EQ(train.Wait(60), 0) << train.Errors();
  std::filesystem::remove_all(place.path() + "/runs/mpi/learner-1/checkpoints");
  Process resume(place.path(), {"resume", "runs/mpi", "--set", "data.passes=30"}, Ranks(2));
  EXPECT_EQ(resume.Wait(60), 0) << resume.Errors();
  EXPECT_THAT(resume.Errors(), HasSubstr("rank 1 takes rank 0's model, but begins anew"));
  EXPECT_THAT(resume.Output(), HasSubstr("Done: 15,000 steps"));
  EXPECT_TRUE(place.Has("runs/mpi/learner-1.1/config.toml")) << "what it had is lost";
  Process again(place.path(), {"resume", "runs/mpi", "--set", "data.passes=40"}, Ranks(2));
  EXPECT_EQ(again.Wait(60), 0) << again.Errors();
  EXPECT_EQ(again.Errors().find("anew"), std::string::npos) << again.Errors();
  EXPECT_THAT(again.Output(), HasSubstr("Done: 20,000 steps"));
  ExpectNothingLeft("mpi");
}

TEST_F(UnderMpirun, WithoutItOneRankLearnsAlone) {
  const Ran alone = RunMurmurate(place.path(), {"train", "mpi", "--set", "data.passes=20"}, 60);
  ASSERT_EQ(alone.code, 0) << alone.errors;
  EXPECT_THAT(place.Read("runs/mpi/log.txt"),
              HasSubstr("rank 0 of 1, collective = \"mpi\": learns alone"));
  std::ifstream example(MURMURATE_SOURCES "/examples/distributed/mpi.toml");
  std::string text{std::istreambuf_iterator<char>(example), {}};
  text.erase(text.find("[parameters]"), text.find("[data]") - text.find("[parameters]"));
  place.Write("local.toml", text);
  ASSERT_EQ(RunMurmurate(place.path(), {"train", "local.toml", "--set", "data.passes=20"}, 60).code,
            0);
  EXPECT_EQ(Weights("mpi"), Weights("local"));
  ExpectNothingLeft("mpi");
}

TEST_F(UnderMpirun, StoppingOneRankStopsAllAtOneBorder) {
  const std::string run = UniqueRun();
  Process train(place.path(), Endless(run), Ranks(2));
  ASSERT_TRUE(Eventually(60, [&] { return HaveCheckpoints(run); })) << train.Errors();
  const Ran stop = RunMurmurate(place.path(), {"stop", "runs/" + run});
  EXPECT_EQ(stop.code, 0) << stop.errors;
  EXPECT_EQ(train.Wait(60), 0) << train.Errors();
  EXPECT_THAT(train.Output(), HasSubstr("Stopped: "));
  ExpectNothingLeft(run);
}

TEST_F(UnderMpirun, ADeadRankEndsTheJobWhichGoesOnFromItsCheckpoints) {
  const std::string run = UniqueRun();
  Process train(place.path(), Endless(run), Ranks(2));
  ASSERT_TRUE(Eventually(60, [&] { return HaveCheckpoints(run); })) << train.Errors();
  const std::vector<pid_t> ranks = train.Children();
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1], SIGKILL);
  EXPECT_EQ(train.Wait(20), 128 + SIGKILL) << train.Errors();
  EXPECT_TRUE(Eventually(5, [&] { return ProcessesOf(place).empty(); }));
  const Ran inspect = RunMurmurate(place.path(), {"inspect", "runs/" + run});
  EXPECT_EQ(inspect.code, 0) << inspect.output << inspect.errors;

  std::vector<std::string> more{"resume", "runs/" + run,     "--set", "run.stop_at_return=30",
                                "--set",  "run.steps=100000"};
  Process resume(place.path(), more, Ranks(2));
  EXPECT_EQ(resume.Wait(60), 0) << resume.Output() << resume.Errors();
  EXPECT_TRUE(Eventually(5, [&] { return ProcessesOf(place).empty(); }));
}

TEST_F(UnderMpirun, ARankThatStandsStillIsNamedAndTheOthersGiveUp) {
  const std::string run = UniqueRun();
  std::vector<std::string> command = Endless(run);
  for (const char* setting : {"parameters.rank_warning_s=0.5", "parameters.rank_timeout_s=2"})
    command.insert(command.end(), {"--set", setting});
  Process train(place.path(), command, Ranks(2));
  ASSERT_TRUE(Eventually(60, [&] { return HaveCheckpoints(run); })) << train.Errors();
  const std::vector<pid_t> ranks = train.Children();
  ASSERT_EQ(ranks.size(), 2u);
  kill(ranks[1], SIGSTOP);
  EXPECT_EQ(train.Wait(20), 5) << train.Errors();
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string missing = std::string("rank 1 on host ") + host + " has not joined ";
  EXPECT_THAT(place.Read("runs/" + run + "/log.txt"), HasSubstr(missing));
  EXPECT_THAT(train.Errors(), HasSubstr("the ranks cannot go on together (" + missing));
  EXPECT_TRUE(Eventually(5, [&] { return ProcessesOf(place).empty(); }));
  const Ran inspect = RunMurmurate(place.path(), {"inspect", "runs/" + run});
  EXPECT_EQ(inspect.code, 0) << inspect.output << inspect.errors;
}

TEST_F(UnderMpirun, ARankThatCannotBeginEndsTheJob) {
  Process train(place.path(), {"train", "mpi", "--set", "data.observations=\"missing.npy\""},
                Ranks(2));
  EXPECT_NE(train.Wait(30), 0);
  EXPECT_THAT(train.Errors(), HasSubstr("missing.npy"));
  ExpectNothingLeft("mpi");
}

TEST_F(UnderMpirun, ThreeRanksSolveCartPole) {
  Process train(place.path(), {"train", "mpi-cartpole"}, Ranks(3));
  EXPECT_EQ(train.Wait(100), 0) << train.Errors();
  EXPECT_THAT(train.Output(), HasSubstr("Solved: "));
  ExpectNothingLeft("mpi-cartpole");
}

TEST(CollectiveConfig, WhatDoesNotFitIsRefusedInOneSentence) {
  Workplace place;
  const auto refusal = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--set", "parameters.collective=mpi"});
    const Ran ran = RunMurmurate(place.path(), arguments);
    EXPECT_EQ(ran.code, 2) << ran.errors;
    return ran.errors;
  };
  EXPECT_THAT(refusal({"serve"}), HasSubstr("would hold all ranks up; use `mpirun -n 4"));
  EXPECT_THAT(refusal({"train", "cartpole", "--learners", "2"}),
              HasSubstr("take run.learners and run.shards out"));
  EXPECT_THAT(refusal({"train", "cartpole", "--set", "parameters.mode=server"}),
              HasSubstr("the ranks need no parameter server"));
  EXPECT_THAT(refusal({"train", "cartpole", "--set", "parameters.rule=asgd"}),
              HasSubstr("always average every gradient; take the line out"));
  EXPECT_THAT(
      RunMurmurate(place.path(), {"check", "cartpole", "--set", "parameters.rank_timeout_s=9"})
          .errors,
      HasSubstr("only the ranks of a collective wait for each other"));
  EXPECT_THAT(refusal({"train", "cartpole", "--set", "parameters.backup=1"}),
              HasSubstr("parameters.backup: belongs to a parameter server"));
  const auto write = [&](const std::string& run, const std::string& record) {
    std::filesystem::create_directories(place.path() + "/runs/" + run);
    place.Write("runs/" + run + "/config.toml", "[run]\nenvironment = \"cartpole\"\n");
    place.Write("runs/" + run + "/resume.json", record);
  };
  write("served", R"({"models": ["default"], "listen": [], "actors": "attached"})");
  write("two", R"({"models": ["a", "b"], "listen": [], "actors": "train"})");
  EXPECT_THAT(refusal({"resume", "served"}), HasSubstr("was started by `murmurate serve`"));
  EXPECT_THAT(refusal({"resume", "two"}), HasSubstr("learns 2 models, and the ranks of"));
  const Ran unknown =
      RunMurmurate(place.path(), {"train", "cartpole", "--set", "parameters.collective=gloo"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("expected \"mpi\""));
}

TEST_F(UnderMpirun, TheFirstRankHasTheHooksAndNoneIsPaused) {
  place.Write("c.toml",
              "[run]\nenvironment = \"cartpole\"\nactors = 1\nagents = 4\nlog_interval_s = 0.2\n"
              "steps = 100_000_000\n[algorithm]\ntrajectory_length = 64\nbatch_steps = 1024\n"
              "[evaluation]\nevery = 0\n[parameters]\ncollective = \"mpi\"\n"
              "[[hook]]\nkind = \"command\"\ncommand = \"cat\"\n");
  Process run(place.path(), {"train", "c.toml", "--quiet"}, Ranks(2));
  ASSERT_TRUE(Eventually(60, [&] {
    return place.Read("runs/c/hooks/command.log").find("after_batch") != std::string::npos;
  })) << run.Errors();
  const Ran pause = RunMurmurate(place.path(), {"pause", "runs/c"});
  EXPECT_EQ(pause.code, 2);
  EXPECT_THAT(pause.errors, HasSubstr("learning of 2 ranks cannot be paused, because each waits "));
  EXPECT_EQ(RunMurmurate(place.path(), {"stop", "runs/c"}).code, 0);
  EXPECT_EQ(run.Wait(60), 0) << run.Errors();
  EXPECT_THAT(place.Read("runs/c/hooks/command.log"), HasSubstr("\"event\":\"end\""));
  EXPECT_TRUE(place.Has("runs/c/learner-1/log.txt"));
  EXPECT_FALSE(place.Has("runs/c/learner-1/hooks"));
}

}  // namespace
}  // namespace murmurate
