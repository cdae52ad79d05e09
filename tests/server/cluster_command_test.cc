// `murmurate cluster`: learners and shards in the background, as a user starts, sees and ends them.
// Separate processes, real sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// A variable of this process, and of those that it starts, while it lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Variable() { unsetenv(name_); }

 private:
  const char* const name_;
};

class ClusterCommand : public testing::Test {
 protected:
  ~ClusterCommand() override {  // whatever a failed test leaves
    for (const pid_t pid : ProcessesOf(place_)) kill(pid, SIGKILL);
  }

  /// `murmurate cluster ARGUMENTS`
  Ran Cluster(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "cluster");
    return RunMurmurate(place_.path(), arguments, 60);
  }
  /// A cluster that does not end by itself, around the rule of an example.
  Ran Start(const std::string& example, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments{"start", example, "--set", "data.passes=1000000000"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Cluster(arguments);
  }
  /// Word `column` of the row of a part; "": no such row.
  std::string Cell(const std::string& part, int column) const {
    std::istringstream rows(Cluster({"status"}).output);
    std::string row, word;
    while (std::getline(rows, row)) {
      std::istringstream words(row);
      words >> word;
      if (word != part) continue;
      for (int i = 0; i < column; ++i) words >> word;
      return word;
    }
    return "";
  }
  std::string State(const std::string& part) const { return Cell(part, 1); }
  pid_t Pid(const std::string& part) const { return std::atoi(Cell(part, 2).c_str()); }

  void ExpectNothingLeft() const {
    EXPECT_TRUE(Eventually(10, [&] { return ProcessesOf(place_).empty(); }));
    EXPECT_EQ(place_.LeftBehind(), "");
  }

  Workplace place_;
};

TEST_F(ClusterCommand, StartsShowsAndEndsAllParts) {
  const Ran start = Start("asgd", {"--learners", "3", "--shards", "2"});
  ASSERT_EQ(start.code, 0) << start.errors;
  for (const char* part : {"shard-0: up, process ", "shard-1: up, process ", "learner-0: up, ",
                           "learner-1: up, ", "learner-2: up, "})
    EXPECT_THAT(start.output, HasSubstr(part));
  EXPECT_THAT(start.output, HasSubstr("`murmurate cluster stop asgd-cluster` ends it"));
  EXPECT_EQ(ProcessesOf(place_).size(), 5u);
  for (const char* part : {"shard-0", "shard-1", "learner-0", "learner-1", "learner-2"})
    EXPECT_EQ(State(part), "up") << part;
  EXPECT_TRUE(
      Eventually(20, [&] { return Cell("learner-1", 3) > "0" && Cell("shard-0", 5) > "0"; }));
  EXPECT_THAT(Cluster({"status", "asgd"}).output, HasSubstr("staleness"));

  const Ran twice = Start("asgd", {"--learners", "3", "--shards", "2"});
  EXPECT_EQ(twice.code, 6);
  EXPECT_EQ(twice.errors,
            "runs/asgd-cluster: all 5 parts run already; see `murmurate cluster status "
            "asgd-cluster`\n");
  const Ran other = Start("asgd", {"--learners", "4", "--shards", "2"});
  EXPECT_EQ(other.code, 2);
  EXPECT_THAT(other.errors, HasSubstr("runs with other settings; end it first with"));
  const Ran afresh = Start("asgd", {"--learners", "3", "--shards", "2", "--fresh"});
  EXPECT_EQ(afresh.code, 2);
  EXPECT_THAT(afresh.errors, HasSubstr("some of its parts run"));

  const Ran stop = Cluster({"stop"});
  EXPECT_EQ(stop.code, 0) << stop.errors;
  EXPECT_GT(stop.output.find("shard-0: stopped"), stop.output.find("learner-2: stopped"));
  ExpectNothingLeft();
  for (const char* folder : {"learner-0", "learner-1", "learner-2"})
    EXPECT_TRUE(place_.Has(std::string("runs/asgd-cluster/") + folder + "/checkpoints/latest"));
  EXPECT_TRUE(place_.Has("runs/asgd-cluster/shard-0/models/default/checkpoints/latest"));
  EXPECT_EQ(State("learner-0"), "ended");
  const Ran none = Cluster({"stop"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("nothing of it runs on this host"));
}

TEST_F(ClusterCommand, StartsAgainWhatDiedAndOnlyThat) {
  ASSERT_EQ(Start("asgd", {"--learners", "2"}).code, 0);
  const pid_t shard = Pid("shard-0"), kept = Pid("learner-0"), lost = Pid("learner-1");
  ASSERT_GT(lost, 0);
  kill(lost, SIGKILL);
  ASSERT_TRUE(Eventually(10, [&] { return State("learner-1") == "died"; }));
  EXPECT_THAT(Cluster({"status"}).output, ContainsRegex("learner-1 .*made for the spaces of"));
  const Ran again = Start("asgd", {"--learners", "2"});
  EXPECT_EQ(again.code, 0) << again.errors;
  EXPECT_THAT(again.output, AllOf(HasSubstr("learner-1: up"), Not(HasSubstr("learner-0: up")),
                                  Not(HasSubstr("shard-0: up"))));
  EXPECT_EQ(Pid("shard-0"), shard);
  EXPECT_EQ(Pid("learner-0"), kept);
  EXPECT_NE(Pid("learner-1"), lost);
  EXPECT_TRUE(Eventually(20, [&] { return Cell("shard-0", 7) == "2"; }));  // workers

  kill(shard, SIGKILL);
  ASSERT_TRUE(Eventually(10, [&] { return State("shard-0") == "died"; }));
  {
    const Variable other("MURMURATE_CHECKPOINT__EVERY_S", "59");
    const Ran named = Cluster({"start", "asgd-cluster"});
    EXPECT_EQ(named.code, 0) << named.errors;
  }
  EXPECT_EQ(State("shard-0"), "up");
  EXPECT_EQ(Cluster({"stop", "asgd"}).code, 0);
  // The next process sweeps the runtime folders of those that were killed.
  EXPECT_TRUE(Eventually(10, [&] { return ProcessesOf(place_).empty(); }));
  EXPECT_TRUE(place_.Has("runs/asgd-cluster/learner-1.1/log.txt"));
  EXPECT_FALSE(place_.Has("runs/asgd-cluster/learner-1.1/lock"));
}

TEST_F(ClusterCommand, GoesOnFromItsCheckpointsAndEndsByItself) {
  ASSERT_EQ(Start("downpour").code, 0);
  ASSERT_TRUE(Eventually(30, [&] {
    return place_.Read("runs/downpour-cluster/learner-0/progress.csv").size() > 2000;
  }));
  ASSERT_EQ(Cluster({"stop"}).code, 0);
  const Ran on = Start("downpour");
  EXPECT_EQ(on.code, 0) << on.errors;
  EXPECT_THAT(place_.Read("runs/downpour-cluster/learner-3/command.txt"), HasSubstr("resume"));
  EXPECT_THAT(place_.Read("runs/downpour-cluster/shard-0/log.txt"), HasSubstr("goes on from"));
  EXPECT_EQ(Cluster({"stop"}).code, 0);

  // One with an end leaves nothing, whether it is waited for or not.
  const std::vector<std::string> brief{"start", "sync", "--set", "data.passes=20"};
  const Ran first = Cluster(brief);
  EXPECT_EQ(first.code, 0) << first.errors;
  ExpectNothingLeft();
  EXPECT_THAT(Cluster({"status", "sync"}).output,
              ContainsRegex("learner-2 +ended .*Run directory"));
  const Ran over = Cluster(brief);
  EXPECT_EQ(over.code, 0) << over.errors;
  EXPECT_THAT(over.output, AllOf(HasSubstr("has been through its files 20 times already"),
                                 HasSubstr("all learners have ended, so nothing runs")));
  ExpectNothingLeft();
  EXPECT_EQ(Cluster({"start", "sync", "--set", "data.passes=30"}).code, 2);
  const Ran fresh = Cluster({"start", "sync", "--set", "data.passes=30", "--fresh"});
  EXPECT_EQ(fresh.code, 0) << fresh.errors;
  EXPECT_TRUE(place_.Has("runs/sync-cluster.1/learner-0"));
  ExpectNothingLeft();
}

TEST_F(ClusterCommand, APartThatCannotBeginIsNamedWithItsLastLineAndNothingIsLeft) {
  place_.Write("x.npy", "no array");
  const Ran start = Start("asgd", {"--set", "data.observations=\"x.npy\""});
  EXPECT_EQ(start.code, 5) << start.output;
  EXPECT_THAT(start.errors, AllOf(HasSubstr(": could not begin (exit code "), HasSubstr("x.npy")));
  EXPECT_EQ(std::count(start.errors.begin(), start.errors.end(), '\n'), 1);
  ExpectNothingLeft();
}

TEST_F(ClusterCommand, InterruptedItEndsWhatItHadStarted) {
  Process start(place_.path(),
                {"cluster", "start", "several-servers", "--set", "data.passes=1000000000"});
  ASSERT_TRUE(start.Says("shard-0: up")) << start.Errors();
  start.Send(SIGINT);
  EXPECT_EQ(start.Wait(30), 5) << start.Output();
  EXPECT_EQ(start.Errors(), "interrupted; what this command had started was ended again\n");
  ExpectNothingLeft();
}

// Two hosts, which this one plays both: 127.0.0.1 and 127.0.0.2.
TEST_F(ClusterCommand, EachHostStartsItsPartsAndSaysWhatToTypeOnTheOthers) {
  const Ran made = RunMurmurate(place_.path(), {"check", "asgd"});  // the data
  ASSERT_EQ(made.code, 0);
  place_.Write("two.toml",
               "[run]\nlearners = 2\n[model]\nlayers = [5]\nnormalize_observation = false\n"
               "[algorithm]\nname = \"supervised\"\nbatch_steps = 128\nminibatch = 32\n"
               "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.05\n[parameters]\nrule = \"asgd\"\n"
               "shards = [\"ipc://" +
                   place_.path() +
                   "/meet\"]\n[data]\nobservations = \"parabola-x.npy\"\nlabels = "
                   "\"parabola-y.npy\"\npasses = 1000000000\n"
                   "[cluster]\nshard_hosts = [\"127.0.0.1\"]\n"
                   "learner_hosts = [\"127.0.0.1\", \"127.0.0.2\"]\n");
  const Variable secret("MURMURATE_CHECKPOINT__EVERY_S", "59");
  const Ran one = Cluster({"start", "two.toml", "--host", "127.0.0.1"});
  ASSERT_EQ(one.code, 0) << one.errors;
  EXPECT_THAT(one.output,
              AllOf(HasSubstr("shard-0: up"), HasSubstr("learner-0: up"),
                    HasSubstr("on 127.0.0.2 type: murmurate cluster start two.toml, with "
                              "MURMURATE_CHECKPOINT__EVERY_S set as here\n"),
                    Not(HasSubstr("learner-1: up"))));
  EXPECT_THAT(Cluster({"status", "two.toml", "--host", "127.0.0.1"}).output,
              ContainsRegex("learner-1 +elsewhere .* 127.0.0.2"));
  const Ran two = Cluster({"start", "two.toml", "--host", "127.0.0.2"});
  ASSERT_EQ(two.code, 0) << two.errors;
  EXPECT_THAT(two.output, AllOf(HasSubstr("learner-1: up"), Not(HasSubstr("learner-0: up"))));
  EXPECT_TRUE(Eventually(20, [&] {
    return Cluster({"status", "two.toml", "--host", "127.0.0.1"}).output.find(" 2  ipc://") !=
           std::string::npos;
  }));
  const Ran stop = Cluster({"stop", "two.toml", "--host", "127.0.0.2"});
  EXPECT_EQ(stop.code, 0) << stop.errors;
  EXPECT_THAT(stop.output, HasSubstr("not ended from here: shard-0 on 127.0.0.1"));
  EXPECT_EQ(Cluster({"stop", "two.toml", "--host", "127.0.0.1"}).code, 0);
  ExpectNothingLeft();
  const Ran third = Cluster({"start", "two.toml", "--host", "node-c"});
  EXPECT_EQ(third.code, 2);
  EXPECT_THAT(third.errors, HasSubstr("no part of it is on this host"));
}

TEST_F(ClusterCommand, WhatMakesNoClusterIsRefusedInOneSentence) {
  const auto refusal = [&](std::vector<std::string> arguments) {
    const Ran ran = Cluster(std::move(arguments));
    EXPECT_EQ(ran.code, 2) << ran.output;
    EXPECT_EQ(std::count(ran.errors.begin(), ran.errors.end(), '\n'), 1) << ran.errors;
    return ran.errors;
  };
  EXPECT_THAT(refusal({"start", "single"}), HasSubstr("write learners = 2 (or more) in [run]"));
  EXPECT_THAT(refusal({"start", "nowhere"}), HasSubstr("nowhere: no such file or example"));
  EXPECT_THAT(refusal({"start", "asgd", "--set", "parameters.mode=\"server\"", "--set",
                       "parameters.shards=[\"ipc:///tmp/x\"]"}),
              HasSubstr("take mode, worker and workers out"));
  EXPECT_THAT(refusal({"start", "asgd", "--set", "cluster.shard_hosts=[\"a\"]"}),
              HasSubstr("write both shard_hosts and learner_hosts"));
  EXPECT_THAT(refusal({"start", "asgd", "--set", "cluster.shard_hosts=[\"10.1.2.3\"]", "--set",
                       "cluster.learner_hosts=[\"10.1.2.3\"]"}),
              HasSubstr("beyond this host"));
  EXPECT_THAT(refusal({"status"}), HasSubstr("no cluster is in runs; start one with"));
  EXPECT_THAT(refusal({"stop", "asgd"}), HasSubstr("asgd: no such cluster"));
  EXPECT_THAT(refusal({}), HasSubstr("subcommand"));
  EXPECT_THAT(ProcessesOf(place_), IsEmpty());
}

}  // namespace
}  // namespace murmurate
