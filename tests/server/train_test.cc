// CartPole, end to end: separate processes, real sockets, real shared memory; and what may die
// meanwhile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

#include "shared/model/weights_file.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

double MeanOfEval(const Ran& eval) {
  double mean = 0;
  const std::size_t at = eval.output.find("mean ");
  if (at != std::string::npos) std::sscanf(eval.output.c_str() + at, "mean %lf", &mean);
  return mean;
}

/// A config that solves CartPole with actors that the test starts itself.
std::string ServeConfig(const Workplace& place) {
  place.Write(
      "c.toml",
      "[run]\nenvironment = \"cartpole\"\nsteps = 2_000_000\nstop_at_return = 475\n"
      "[server]\nlisten = [\"ipc://" +
          place.path() +
          "/main\"]\n"
          "[model]\nnormalize_observation = false\n"
          "[algorithm]\ntrajectory_length = 64\nbatch_steps = 512\nminibatch = 64\nepochs = 4\n"
          "[optimizer]\nlearning_rate = {from = 2e-3, to = 2e-4, steps = 100_000}\n");
  return "ipc://" + place.path() + "/main";
}

std::vector<std::string> ActorArguments(const std::string& address, int number) {
  return {"actor",    "cartpole", "--connect", address,
          "--agents", "2",        "--name",    "a-" + std::to_string(number)};
}

nlohmann::json Status(const Workplace& place) {
  return nlohmann::json::parse(RunMurmurate(place.path(), {"status", "--json"}).output, nullptr,
                               false);
}

std::uint64_t StepsOf(const Workplace& place) {
  const auto status = Status(place);
  if (!status.is_object() || status["models"].empty()) return 0;
  return status["models"][0]["trained_steps"];
}

/// A run that does not end by itself.
std::vector<std::string> EndlessTraining(const std::string& run = "cartpole") {
  return {"train",   "cartpole",  "--set", "run.stop_at_return=100000",
          "--steps", "100000000", "--set", "run.name=" + run};
}

/// What a column of progress.csv holds, without its empty fields.
std::vector<double> ColumnOf(const Workplace& place, const std::string& run,
                             const std::string& name) {
  std::istringstream lines(place.Read("runs/" + run + "/progress.csv"));
  std::string line;
  std::getline(lines, line);
  const std::string before = line.substr(0, line.find(name));
  const auto column = std::count(before.begin(), before.end(), ',');
  std::vector<double> values;
  while (std::getline(lines, line)) {
    std::istringstream cells(line);
    std::string cell;
    for (auto i = column; i >= 0; --i) std::getline(cells, cell, ',');
    if (!cell.empty()) values.push_back(std::stod(cell));
  }
  return values;
}

double LastOf(const Workplace& place, const std::string& run, const std::string& column) {
  const auto values = ColumnOf(place, run, column);
  return values.empty() ? -1e9 : values.back();
}

/// With that rate the first batches already leave a policy that does the same for ever.
TEST(Train, APolicyThatCollapsesGoesBackAtHalfTheRateAndTheLogSaysSo) {
  const Workplace place;
  std::string run;
  const auto train = [&](const std::string& on_collapse, int seed) {
    run = on_collapse + std::to_string(seed);
    return RunMurmurate(
        place.path(),
        {"train", "cartpole", "--quiet", "--steps", "60000", "--seed", std::to_string(seed),
         "--set", "run.name=" + run, "--set", "run.on_collapse=" + on_collapse, "--set",
         "optimizer.learning_rate=4", "--set", "evaluation.every=0", "--set",
         "algorithm.batch_steps=4096", "--set", "algorithm.minibatch=1024"},
        60);
  };
  // The first of at most five that collapses: once in a few hundred runs even a rate of 4 happens
  // on a policy that plays better than the first one did.
  const auto collapsed = [&](const std::string& on_collapse) {
    Ran ran = train(on_collapse, 1);
    for (int seed = 2; seed <= 5 && ran.errors.find("has collapsed") == std::string::npos; ++seed)
      ran = train(on_collapse, seed);
    return ran;
  };
  const Ran back = collapsed("return");
  EXPECT_THAT(back.errors, HasSubstr("model default: the policy has collapsed: "));
  EXPECT_THAT(back.errors, HasSubstr("; it goes back to version "));
  EXPECT_LE(LastOf(place, run, "train/learning_rate"), 2.0) << back.errors;
  const Ran say = collapsed("say");
  EXPECT_THAT(say.errors, HasSubstr("it learns on as it is, because run.on_collapse says so"));
  EXPECT_EQ(LastOf(place, run, "train/learning_rate"), 4.0);
  EXPECT_THAT(train("off", 1).errors, Not(HasSubstr("collapsed")));
}

TEST(Train, ARunInLockstepThatCollapsesOnlySaysSo) {
  const Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  place.Write("c.toml",
              "[run]\nenvironment = \"cartpole\"\nsteps = 60000\n"
              "[server]\nlisten = [\"" +
                  address +
                  "\"]\n[algorithm]\ntrajectory_length = 128\nbatch_steps = 4096\n"
                  "minibatch = 1024\nepochs = 4\n"
                  "[optimizer]\nlearning_rate = 4\n[evaluation]\nevery = 0\n");
  Process learner(place.path(), {"serve", "c.toml", "--set", "run.name=lockstep"});
  ASSERT_TRUE(learner.Says(" serves "));
  Process actor(place.path(),
                {"actor", "cartpole", "--connect", address, "--agents", "4", "--pace", "lockstep"});
  EXPECT_NE(learner.Wait(60), -1);
  EXPECT_THAT(learner.Errors(), HasSubstr("it learns on as it is, because it runs in lock-step"));
  EXPECT_EQ(LastOf(place, "lockstep", "train/learning_rate"), 4.0);
  EXPECT_NE(actor.Wait(20), -1);
}

TEST(Train, CartPoleIsSolvedAndEvalAgrees) {
  const std::string run = UniqueRun();
  Workplace place;
  const Ran train = RunMurmurate(
      place.path(), {"train", "cartpole", "--seed", "3", "--set", "run.name=" + run}, 60);
  ASSERT_EQ(train.code, 0) << train.output << train.errors;
  EXPECT_THAT(train.output, HasSubstr("Solved: "));
  EXPECT_THAT(train.output, HasSubstr("; learner waited "));
  EXPECT_THAT(train.output, HasSubstr("Next: murmurate eval runs/" + run));
  for (const char* file : {"config.toml", "command.txt", "version.json", "progress.csv", "log.txt",
                           "plots/learning.svg", "checkpoints/latest/weights.safetensors"})
    EXPECT_TRUE(place.Has("runs/" + run + "/" + file)) << file;
  EXPECT_EQ(place.LeftBehind(), "");
  EXPECT_EQ(SegmentsOf(run), 0);
  const Ran eval = RunMurmurate(place.path(), {"eval", run});
  EXPECT_EQ(eval.code, 0) << eval.errors;
  EXPECT_GE(MeanOfEval(eval), 475) << eval.output;
  // The last words and the last row tell of the weights that were saved.
  char mean[64];
  std::snprintf(mean, sizeof mean, "Evaluation: mean return %.1f over 100 episodes",
                MeanOfEval(eval));
  EXPECT_THAT(train.output, HasSubstr(mean));
  EXPECT_NEAR(LastOf(place, run, "eval/mean_reward"), MeanOfEval(eval), 0.01);
  EXPECT_EQ(RunMurmurate(place.path(), {"eval", run}).output,
            eval.output);  // the same episodes every time
  EXPECT_THAT(eval.output, ContainsRegex("100 greedy episodes.*\nmean [0-9.]+ \\+- [0-9.]+ "
                                         "\\(95 %, 100 episodes\\)  std .*min .*max "));
  const Ran sampled = RunMurmurate(place.path(), {"eval", run, "--sample", "--episodes", "20"});
  EXPECT_THAT(sampled.output, HasSubstr("20 sampled episodes")) << sampled.errors;
  EXPECT_EQ(RunMurmurate(place.path(), {"eval", run, "--sample", "--episodes", "20"}).output,
            sampled.output);
}

double FirstMean(const Workplace& place, const std::string& run) {
  const auto means = ColumnOf(place, run, "rollout/ep_rew_mean");
  return means.empty() ? 0 : means.front();
}

TEST(Train, BeginsWithWhatOfAnotherRunsWeightsFits) {
  Workplace place;
  const Ran first = RunMurmurate(
      place.path(), {"train", "cartpole", "--seed", "3", "--set", "run.name=first"}, 60);
  ASSERT_EQ(first.code, 0) << first.output << first.errors;
  EXPECT_LT(FirstMean(place, "first"), 100);

  // Steps too small to change anything: what is played and saved is the file.
  const std::string config =
      "[run]\nenvironment = \"cartpole\"\nlog_interval_s = 0.05\n"
      "stop_at_steps = 30_000\n[model]\nnormalize_observation = false\n"
      "initialize_from = \"runs/first/checkpoints/latest/weights.safetensors\"\n";
  place.Write("second.toml", config + "[optimizer]\nlearning_rate = 1e-12\n");
  const Ran second = RunMurmurate(place.path(), {"train", "second.toml", "--seed", "4"}, 60);
  ASSERT_EQ(second.code, 0) << second.output << second.errors;
  const std::string file = place.path() + "/runs/first/checkpoints/latest/weights.safetensors";
  EXPECT_THAT(place.Read("runs/second/log.txt"),
              HasSubstr("model default: initialize_from " + file +
                        ": 12 of 12 tensors (9,155 of 9,155 numbers) taken\n"));
  EXPECT_GT(FirstMean(place, "second"), 200);
  const auto before = ReadWeightsFile(file);
  const auto after =
      ReadWeightsFile(place.path() + "/runs/second/checkpoints/latest/weights.safetensors");
  ASSERT_TRUE(before.ok() && after.ok());
  ASSERT_EQ(before->parameters.size(), after->parameters.size());
  for (std::size_t i = 0; i < before->parameters.size(); ++i)
    ASSERT_NEAR(before->parameters[i], after->parameters[i], 1e-8) << i;

  // Of another trunk the first layers and the heads' biases fit.
  place.Write("third.toml", config);
  const std::string partly =
      ": 6 of 12 tensors (643 of 4,899 numbers) taken; of another shape: policy.1.weight (file 64 "
      "64, model 64 32), ";
  const std::vector<std::string> set = {"--set", "model.layers=[64, 32]", "--set",
                                        "run.stop_at_steps=2000"};
  for (const char* command : {"check", "train"}) {
    std::vector<std::string> arguments = {command, "third.toml"};
    arguments.insert(arguments.end(), set.begin(), set.end());
    const Ran ran = RunMurmurate(place.path(), arguments, 60);
    EXPECT_EQ(ran.code, 0) << ran.errors;
    const bool train = arguments[0] == "train";
    EXPECT_THAT(train ? place.Read("runs/third/log.txt") : ran.output, HasSubstr(partly));
  }
}

TEST(Train, AFileOfNoUseIsRefusedBeforeAnythingStarts) {
  Workplace place;
  place.Write("c.toml", "[run]\nenvironment = \"cartpole\"\n[model]\ninitialize_from = \"w\"\n");
  for (const char* command : {"train", "check", "serve"}) {
    const Ran ran = RunMurmurate(place.path(), {command, "c.toml"});
    EXPECT_EQ(ran.code, 2) << ran.output;
    EXPECT_EQ(ran.errors, "c.toml:4: model.initialize_from: " + place.path() +
                              "/w: there is no such file; give the path of a safetensors file, "
                              "relative to the config's folder\n");
  }
  place.Write("w", "not weights");
  for (const char* command : {"train", "check", "serve"}) {
    const Ran ran = RunMurmurate(place.path(), {command, "c.toml"});
    EXPECT_EQ(ran.code, 3) << ran.output;
    EXPECT_THAT(ran.errors, HasSubstr("c.toml:4: model.initialize_from: " + place.path() +
                                      "/w: no safetensors file that can be read: "));
  }
  EXPECT_FALSE(place.Has("runs"));
}

TEST(Train, CheckJudgesTheFilesOfEveryModelWithoutAnEnvironment) {
  Workplace place;
  place.Write("c.toml", "[model.npc]\ninitialize_from = \"w\"\n");
  const Ran ran = RunMurmurate(place.path(), {"check", "c.toml"});
  EXPECT_EQ(ran.code, 2) << ran.output;
  EXPECT_THAT(ran.errors, HasSubstr("c.toml:2: model.npc.initialize_from: "));
}

TEST(Train, ASpentBudgetIsOne) {
  Workplace place;
  const Ran train = RunMurmurate(place.path(), {"train", "cartpole", "--steps", "4000"}, 60);
  EXPECT_EQ(train.code, 1) << train.output << train.errors;
  EXPECT_THAT(train.output, HasSubstr("Not solved: "));
}

TEST(Train, ATakenNameBecomesTheNext) {
  Workplace place;
  for (const char* run : {"runs/cartpole", "runs/cartpole-2"}) {
    const Ran train =
        RunMurmurate(place.path(), {"train", "cartpole", "--set", "run.stop_at_steps=2000"}, 60);
    EXPECT_THAT(train.output, HasSubstr(std::string("Run directory: ") + run + "\n"));
  }
}

TEST(Train, CtrlCEndsItAndItsActorsWithinFiveSeconds) {
  const std::string run = UniqueRun();
  Workplace place;
  Process train(place.path(), EndlessTraining(run));
  ASSERT_TRUE(train.Says("  return ")) << train.Errors();
  train.Send(SIGINT);
  EXPECT_EQ(train.Wait(5), 0) << train.Errors();
  EXPECT_THAT(train.Output(), HasSubstr("Stopped: "));
  EXPECT_THAT(train.Errors(), Not(HasSubstr("its result is lost"))) << "the last batch was short";
  EXPECT_EQ(place.LeftBehind(), "");
  EXPECT_EQ(SegmentsOf(run), 0);
}

TEST(Train, EndsWhenNoActorIsLeft) {
  Workplace place;
  Process train(place.path(), EndlessTraining());
  ASSERT_TRUE(Eventually(20, [&] { return train.Children().size() == 2 && StepsOf(place) > 0; }));
  for (const pid_t actor : train.Children()) kill(actor, SIGKILL);
  EXPECT_EQ(train.Wait(5), 5) << train.Output();
  EXPECT_THAT(train.Errors(), HasSubstr("was ended by signal 9; "));
  EXPECT_THAT(train.Errors(), HasSubstr("no actor process is left"));
  EXPECT_EQ(place.LeftBehind(), "");
}

TEST(Train, KilledItTakesItsActorsAlongAndTheNextStartSweeps) {
  const std::string run = UniqueRun();
  Workplace place;
  std::vector<pid_t> actors;
  {
    Process train(place.path(), EndlessTraining(run));
    ASSERT_TRUE(Eventually(20, [&] { return StepsOf(place) > 0; })) << train.Errors();
    actors = train.Children();
    train.Send(SIGKILL);
    train.Wait(5);
  }
  ASSERT_EQ(actors.size(), 2u);
  for (const pid_t actor : actors)
    EXPECT_TRUE(Eventually(2, [&] { return !Lives(actor); })) << actor;
  const Ran next = RunMurmurate(
      place.path(),
      {"train", "cartpole", "--set", "run.stop_at_steps=2000", "--set", "run.name=" + run}, 60);
  EXPECT_THAT(next.output, HasSubstr("Run directory: runs/" + run + "-2"));
  EXPECT_EQ(SegmentsOf(run), 0);
}

TEST(Serve, LearnsFromActorsThatWereThereFirst) {
  Workplace place;
  const std::string address = ServeConfig(place);
  Process one(place.path(), ActorArguments(address, 1)),
      two(place.path(), ActorArguments(address, 2));
  ASSERT_TRUE(one.Says("no learner answers", 10));
  Process serve(place.path(), {"serve", "c.toml"});
  EXPECT_EQ(serve.Wait(40), 0) << serve.Output() << serve.Errors();
  // One that backed off may come too late for a run this short: it then waits on for the next
  // learner.
  for (Process* actor : {&one, &two}) actor->Send(SIGTERM);
  EXPECT_EQ(one.Wait(2), 0);
  EXPECT_EQ(two.Wait(2), 0);
  EXPECT_GE(MeanOfEval(RunMurmurate(place.path(), {"eval", "c"})), 450);
}

TEST(Serve, ActorsKilledAndStartedAgainStillSolveIt) {
  Workplace place;
  const std::string address = ServeConfig(place);
  Process serve(place.path(), {"serve", "c.toml"});
  Process steady(place.path(), ActorArguments(address, 0));
  int started = 0;
  while (serve.running() && started < 200) {
    Process victim(place.path(), ActorArguments(address, ++started));
    Eventually(0.15, [&] { return !serve.running(); });
    victim.Send(SIGKILL);
    victim.Wait(5);
  }
  EXPECT_EQ(serve.Wait(5), 0) << serve.Output() << serve.Errors();
  EXPECT_EQ(steady.Wait(2), 0);
  EXPECT_EQ(place.LeftBehind(), "");
}

TEST(Serve, AStoppedActorDoesNotStopTheOthers) {
  Workplace place;
  const std::string address = ServeConfig(place);
  Process serve(place.path(), {"serve", "c.toml", "--set", "run.stop_at_return=100000"});
  Process stalled(place.path(), ActorArguments(address, 1)),
      other(place.path(), ActorArguments(address, 2));
  ASSERT_TRUE(Eventually(20, [&] { return StepsOf(place) > 5000; }));
  stalled.Send(SIGSTOP);
  const std::uint64_t then = StepsOf(place);
  EXPECT_TRUE(Eventually(15, [&] { return StepsOf(place) > then + 50'000; }))
      << Status(place).dump(1);
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0);
  stalled.Send(SIGCONT);  // too late for the goodbye: it would wait for the next learner
  stalled.Send(SIGTERM);
  EXPECT_EQ(stalled.Wait(2), 0);
}

/// Everybody's share of every batch is asked for, and a stopped actor gives none.
TEST(Serve, AStoppedActorHoldsUpNobodyWhereOnlyTheCurrentVersionCounts) {
  Workplace place;
  const std::string address = "ipc://" + place.path() + "/main";
  place.Write("c.toml", "[run]\nenvironment = \"cartpole\"\n[server]\nlisten = [\"" + address +
                            "\"]\n[algorithm]\nname = \"a2c\"\nquorum = 0.5\n");
  Process serve(place.path(), {"serve", "c.toml"});
  Process stalled(place.path(), ActorArguments(address, 1)),
      other(place.path(), ActorArguments(address, 2));
  ASSERT_TRUE(Eventually(20, [&] {
    const nlohmann::json status = Status(place);
    if (!status.is_object() || status["actors"].size() != 2) return false;
    return !status["actors"][0]["staleness"].empty() && !status["actors"][1]["staleness"].empty();
  })) << serve.Errors();
  stalled.Send(SIGSTOP);
  const std::uint64_t then = StepsOf(place);
  EXPECT_TRUE(Eventually(30, [&] { return StepsOf(place) > then + 5000; }))
      << Status(place).dump(1);
  const nlohmann::json status = Status(place);
  int aged = 0;
  for (const auto& actor : status["actors"]) {
    for (const auto& bucket : actor["staleness"]) {
      ++aged;
      EXPECT_EQ(bucket["versions"], "0") << actor.dump(1);
    }
  }
  EXPECT_EQ(aged, 2) << status.dump(1);
  serve.Send(SIGTERM);
  EXPECT_EQ(serve.Wait(5), 0);
  stalled.Send(SIGCONT);
  stalled.Send(SIGTERM);
  EXPECT_EQ(stalled.Wait(2), 0);
}

TEST(Actor, WaitsForALearnerThatIsGoneNoLongerThanItsPatience) {
  Workplace place;
  const std::string address = ServeConfig(place);
  std::vector<std::string> arguments = ActorArguments(address, 1);
  arguments.insert(arguments.end(), {"--patience", "0.5"});
  Process actor(place.path(), arguments);
  {
    Process serve(place.path(), {"serve", "c.toml", "--set", "run.stop_at_return=100000"});
    ASSERT_TRUE(Eventually(20, [&] { return StepsOf(place) > 500; })) << serve.Errors();
    serve.Send(SIGKILL);
    serve.Wait(5);
  }
  EXPECT_EQ(actor.Wait(30), 5) << actor.Output();
  EXPECT_THAT(actor.Errors(), HasSubstr("has been gone for"));
}

TEST(Serve, KilledAndStartedAgainItsActorsPlayOn) {
  Workplace place;
  const std::string address = ServeConfig(place);
  Process one(place.path(), ActorArguments(address, 1)),
      two(place.path(), ActorArguments(address, 2));
  {
    Process first(place.path(), {"serve", "c.toml", "--set", "run.stop_at_return=100000"});
    ASSERT_TRUE(Eventually(20, [&] { return StepsOf(place) > 5000; })) << first.Errors();
    first.Send(SIGKILL);
    first.Wait(5);
  }
  EXPECT_TRUE(one.running());
  Process second(place.path(), {"serve", "c.toml", "--fresh"});
  EXPECT_EQ(second.Wait(40), 0) << second.Output() << second.Errors();
  for (Process* actor : {&one, &two}) actor->Send(SIGTERM);  // one may come too late, as above
  EXPECT_EQ(one.Wait(2), 0);
  EXPECT_EQ(two.Wait(2), 0);
  EXPECT_EQ(place.LeftBehind(), "");
}

}  // namespace
}  // namespace murmurate
