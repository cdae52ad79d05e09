// `mpirun -n N murmurate train`, end to end: processes that average their gradients over MPI, how
// they end together, and what a dead one leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

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

  void CopyExample(const std::string& name) const {
    std::filesystem::copy(MURMURATE_SOURCES "/examples/distributed/" + name, place.path());
  }

  /// y = x^2 from files of this folder.
  void WriteParabola() const {
    const std::string maker = MURMURATE_EXAMPLES "/distributed/make_distributed_data";
    ASSERT_EQ(std::system(("\"" + maker + "\" \"" + place.path() + "\"").c_str()), 0);
    CopyExample("mpi.toml");
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

  std::string Weights(const std::string& run) const {
    return place.Read("runs/" + run + "/checkpoints/latest/weights.safetensors");
  }

  /// Both of two ranks.
  bool HaveCheckpoints(const std::string& run) const {
    return !Weights(run).empty() && !Weights(run + "/learner-1").empty();
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
  WriteParabola();
  const std::vector<std::string> command{"train", "mpi.toml", "--set", "data.passes=20"};
  Process train(place.path(), command, Ranks(3));
  ASSERT_EQ(train.Wait(60), 0) << train.Errors();
  EXPECT_THAT(train.Output(), HasSubstr("Done: 20,000 steps learned"));
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

  const std::vector<std::string> more{"resume", "runs/mpi", "--set", "data.passes=30"};
  Process resume(place.path(), more, Ranks(3));
  ASSERT_EQ(resume.Wait(60), 0) << resume.Errors();
  EXPECT_THAT(resume.Output(), HasSubstr("Done: 30,000 steps learned"));
  Process whole(place.path(),
                {"train", "mpi.toml", "--set", "data.passes=30", "--set", "run.name=whole"},
                Ranks(3));
  ASSERT_EQ(whole.Wait(60), 0) << whole.Errors();
  EXPECT_NE(Weights("mpi"), weights);
  EXPECT_EQ(Weights("mpi"), Weights("whole")) << "a resumed run is not the one never stopped";
  EXPECT_EQ(Weights("mpi/learner-2"), Weights("whole"));

  Process over(place.path(), more, Ranks(3));
  EXPECT_EQ(over.Wait(60), 0) << over.Errors();
  EXPECT_THAT(over.Output(), HasSubstr("has been through its files 30 times already"));
  ExpectNothingLeft("mpi");
}

TEST_F(UnderMpirun, WithoutItOneRankLearnsAlone) {
  WriteParabola();
  const Ran alone =
      RunMurmurate(place.path(), {"train", "mpi.toml", "--set", "data.passes=20"}, 60);
  ASSERT_EQ(alone.code, 0) << alone.errors;
  EXPECT_THAT(place.Read("runs/mpi/log.txt"),
              HasSubstr("rank 0 of 1, collective = \"mpi\": learns alone"));
  std::string text = place.Read("mpi.toml");
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

TEST_F(UnderMpirun, ARankThatCannotBeginEndsTheJob) {
  WriteParabola();
  Process train(place.path(), {"train", "mpi.toml", "--set", "data.labels=\"missing.npy\""},
                Ranks(2));
  EXPECT_NE(train.Wait(30), 0);
  EXPECT_THAT(train.Errors(), HasSubstr("missing.npy"));
  ExpectNothingLeft("mpi");
}

TEST_F(UnderMpirun, ThreeRanksSolveCartPole) {
  CopyExample("mpi-cartpole.toml");
  Process train(place.path(), {"train", "mpi-cartpole.toml"}, Ranks(3));
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
  EXPECT_THAT(refusal({"train", "cartpole", "--set", "parameters.backup=1"}),
              HasSubstr("parameters.backup: belongs to a parameter server"));
  const Ran unknown =
      RunMurmurate(place.path(), {"train", "cartpole", "--set", "parameters.collective=gloo"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.errors, HasSubstr("expected \"mpi\" or \"nccl\""));
}

}  // namespace
}  // namespace murmurate
