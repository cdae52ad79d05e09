// The built-in games, end to end: each row of the table in docs/results.md with one seed. One actor
// process in lock-step makes a run repeatable, so the bounds on steps are those of the table, not
// of luck; other processors round otherwise, so they have room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <latch>
#include <map>
#include <sstream>
#include <thread>
#include <vector>

#include "client/environments/gridworld.h"
#include "client/environments/play.h"
#include "murmurate/client.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/weights_file.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

double MeanOfEval(const Ran& eval) {
  double mean = -1e9;
  const std::size_t at = eval.output.find("mean ");
  if (at != std::string::npos) std::sscanf(eval.output.c_str() + at, "mean %lf", &mean);
  return mean;
}

struct Learned {
  int code = -1;
  long steps = 0, trained_steps = 0;
  std::string mean;     ///< rollout/ep_rew_mean, as written
  std::string weights;  ///< the last checkpoint's file
  std::string errors;
};

/// From the last row of progress.csv.
void ReadEnd(const Workplace& place, const std::string& run, Learned* learned) {
  std::istringstream rows(place.Read("runs/" + run + "/progress.csv"));
  std::string header, row, last, name, field;
  std::getline(rows, header);
  while (std::getline(rows, row)) last = row;
  std::istringstream names(header), fields(last);
  std::map<std::string, std::string> values;
  while (std::getline(names, name, ',') && std::getline(fields, field, ',')) values[name] = field;
  learned->steps = std::atol(values["time/total_timesteps"].c_str());
  learned->trained_steps = std::atol(values["train/trained_steps"].c_str());
  learned->mean = values["rollout/ep_rew_mean"];
  ASSERT_NE(learned->mean, "") << last;
  learned->weights = place.Read("runs/" + run + "/checkpoints/latest/weights.safetensors");
}

std::vector<std::string> ServeArguments(const std::string& config, const std::string& run,
                                        const std::string& address,
                                        const std::vector<std::string>& settings) {
  std::vector<std::string> arguments{"serve"};
  if (!config.empty()) arguments.push_back(config);
  arguments.insert(arguments.end(), {"--seed", "3", "--set", "run.name=" + run, "--set",
                                     "server.listen=[\"" + address + "\"]"});
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

/// `serve CONFIG` (or no config) and one actor in lock-step with all agents, until the run ends.
Learned LearnInLockstep(const Workplace& place, const std::string& config,
                        const std::string& environment, const std::string& agents,
                        const std::vector<std::string>& settings = {}) {
  const std::string run = UniqueRun(), address = "ipc://" + place.path() + "/" + run;
  Process serve(place.path(), ServeArguments(config, run, address, settings));
  std::vector<std::string> play{"actor",  environment, "--connect", address,    "--agents", agents,
                                "--seed", "3",         "--pace",    "lockstep", "--quiet"};
  if (config == "recall-long") play.insert(play.end(), {"--distractors", "40"});
  Process actor(place.path(), play);
  Learned learned;
  learned.code = serve.Wait(100);
  learned.errors = serve.Errors();
  ReadEnd(place, run, &learned);
  EXPECT_EQ(actor.Wait(10), 0) << actor.Errors();
  EXPECT_EQ(actor.Errors(), "");  // gridworld's aborts at a forbidden action
  EXPECT_EQ(SegmentsOf(run), 0);
  return learned;
}

struct Row {
  const char *config, *environment, *agents, *reaches;
  long within;  ///< steps
};

class Table : public ::testing::TestWithParam<Row> {};

Learned LearnRow(const Row& row) {
  Workplace place;
  return LearnInLockstep(place, row.config, row.environment, row.agents,
                         {std::string("run.stop_at_return=") + row.reaches});
}

TEST_P(Table, IsReachedWithinItsSteps) {
  const Learned learned = LearnRow(GetParam());
  EXPECT_EQ(learned.code, 0) << learned.errors;
  EXPECT_LE(learned.steps, GetParam().within);
  RecordProperty("steps", std::to_string(learned.steps));
}

INSTANTIATE_TEST_SUITE_P(, Table,
                         ::testing::Values(Row{"cartpole", "cartpole", "8", "475", 100'000},
                                           Row{"cartpole-a2c", "cartpole", "8", "475", 500'000},
                                           Row{"cartpole-impala", "cartpole", "8", "475", 500'000},
                                           Row{"catch", "catch", "8", "0.95", 300'000},
                                           Row{"catch-impala", "catch", "8", "0.95", 300'000},
                                           Row{"gridworld", "gridworld", "8", "0.845", 400'000},
                                           Row{"pendulum", "pendulum", "8", "-250", 300'000},
                                           Row{"recall", "recall", "16", "0.95", 100'000},
                                           Row{"recall-r2d2", "recall", "8", "0.95", 100'000},
                                           Row{"recall-long", "recall", "16", "0.95", 1'500'000}),
                         [](const auto& row) {
                           std::string name = row.param.config;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

struct Usual {
  const char *name, *environment;
  std::vector<std::string> settings;
  const char* reaches;
  long within;  ///< steps
};
void PrintTo(const Usual& usual, std::ostream* out) { *out << usual.name; }

/// What `serve` without a config makes of models whose policy and critic share their layers, and of
/// rewards far from 1. With rewards as they are, none of the four is reached.
class DefaultSettings : public ::testing::TestWithParam<Usual> {};

TEST_P(DefaultSettings, LearnIt) {
  Workplace place;
  std::vector<std::string> settings = GetParam().settings;
  settings.push_back("run.steps=" + std::to_string(GetParam().within));
  settings.push_back(std::string("run.stop_at_return=") + GetParam().reaches);
  const Learned learned = LearnInLockstep(place, "", GetParam().environment, "8", settings);
  EXPECT_EQ(learned.code, 0) << learned.errors;
  RecordProperty("steps", std::to_string(learned.steps));
}

INSTANTIATE_TEST_SUITE_P(
    , DefaultSettings,
    ::testing::Values(
        Usual{"shared_trunk", "cartpole", {"model.separate_value=false"}, "475", 300'000},
        Usual{"lstm", "cartpole", {"model.recurrent=\"lstm 32\""}, "475", 300'000},
        Usual{"gru", "cartpole", {"model.recurrent=\"gru 32\""}, "475", 300'000},
        Usual{"pendulum", "pendulum", {}, "-250", 300'000}),
    [](const auto& usual) { return usual.param.name; });

/// The steps of CONFIG until it is solved by eight agents of so many actors, each a client and a
/// thread of this process. Nobody plays on before all are there, and they come one by one: so their
/// runs in lock-step are repeatable, too.
Learned LearnByActors(const std::string& config, int actors) {
  const Workplace place;
  const std::string run = UniqueRun(), address = "ipc://" + place.path() + "/" + run;
  Process serve(place.path(), ServeArguments(config, run, address, {}));
  std::latch all_there(1);
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<std::jthread> threads;
  for (int i = 0; i < actors; ++i) {
    clients.push_back(*Client::Connect(
        address, {.pace = Pace::kLockstep, .without_policy = WithoutPolicy::kWait}));
    threads.emplace_back([&, i, client = clients.back().get()] {
      PlayOptions play;
      play.agents = 8 / actors;
      play.seed = 3u + static_cast<unsigned>(i);
      play.stop = [&] { return all_there.wait(), false; };
      const auto played = PlayLoop(*client, play);
      EXPECT_TRUE(played.ok()) << played.status();
    });
    EXPECT_TRUE(
        Eventually(20, [&] { return clients.back()->State().state == ClientState::kLive; }));
  }
  all_there.count_down();
  Learned learned;
  learned.code = serve.Wait(50);
  if (learned.code < 0) {
    serve.Send(SIGTERM);  // it tells the actors, who wait for it
    (void)serve.Wait(10);
  }
  learned.errors = serve.Errors();
  threads.clear();
  ReadEnd(place, run, &learned);
  return learned;
}

struct FourAgainstOne {
  const char* config;
  long within;       ///< steps
  double most_more;  ///< steps of four actors to those of one
};
class FourActors : public ::testing::TestWithParam<FourAgainstOne> {};

// Over fifteen seeds the ratio of the medians is 1.02 and 0.96 (docs/results.md), but one seed is
// one draw of each: over 18 other seeds the ratio in this test was 0.86 to 1.24 by ppo, and 0.41
// to 2.34 by impala; over 20 of actors in processes of their own, 0.89 to 1.16 and 0.60 to 2.99 (2
// above 2.5). Another processor's kernels are another draw. Actors whose experience spoils
// another's, or is lost, cost more than that.
TEST_P(FourActors, SolveItInAsFewStepsAsOneDoesButForTheLuckOfASeed) {
  const auto& [config, within, most_more] = GetParam();
  const Learned one = LearnByActors(config, 1), four = LearnByActors(config, 4);
  EXPECT_EQ(one.code, 0) << one.errors;
  EXPECT_EQ(four.code, 0) << four.errors;
  EXPECT_LE(one.steps, within);
  EXPECT_LE(four.steps, within);
  EXPECT_LE(static_cast<double>(four.steps), most_more * static_cast<double>(one.steps));
  RecordProperty("steps", std::to_string(one.steps) + " by one, " + std::to_string(four.steps));
}

INSTANTIATE_TEST_SUITE_P(, FourActors,
                         ::testing::Values(FourAgainstOne{"cartpole", 100'000, 1.3},
                                           FourAgainstOne{"cartpole-impala", 500'000, 3.5}),
                         [](const auto& row) {
                           return std::string(row.index == 0 ? "ppo" : "impala");
                         });

// Ended by steps: a run that is solved ends when that is noticed, which may be a version later.
TEST(Games, ARunInLockstepIsTheSameAgain) {
  const auto learn = [] {
    const Workplace place;
    return LearnInLockstep(place, "catch", "catch", "8",
                           {"run.stop_at_return=2", "run.stop_at_steps=10240"});
  };
  const Learned once = learn(), again = learn();
  EXPECT_EQ(once.code, 1) << once.errors;  // catch gives no 2
  EXPECT_EQ(again.trained_steps, once.trained_steps);
  EXPECT_EQ(again.mean, once.mean);
  EXPECT_NE(once.weights, "");
  EXPECT_TRUE(again.weights == once.weights) << "the last weights differ";
}

/// Guessing is 0.25, and a window of 100 guesses has a deviation of 0.043.
TEST(Games, WithoutAMemoryRecallIsGuessing) {
  for (const char* config : {"recall", "recall-long"}) {
    Workplace place;
    const bool is_long = std::string(config) == "recall-long";
    place.Write("c.toml",
                "[run]\nenvironment = \"recall\"\nsteps = 60_000\nstop_at_return = 0.55\n" +
                    std::string(is_long ? "[environment]\ndistractors = 40\n" : "") +
                    "[model]\nlayers = [32]\nnormalize_observation = false\n"
                    "[algorithm]\ntrajectory_length = 32\nbatch_steps = 1024\n"
                    "epochs = 4\n[optimizer]\nlearning_rate = 5e-3\n");
    const Ran train = RunMurmurate(place.path(), {"train", "c.toml"}, 100);
    EXPECT_EQ(train.code, 1) << config << train.output << train.errors;
    EXPECT_LT(MeanOfEval(RunMurmurate(place.path(), {"eval", "c"}, 60)), 0.4) << config;
  }
}

/// As a game would play it: sampling and greedy, with what `train` has left.
TEST(Games, GridworldsMaskIsNeverBroken) {
  Workplace place;
  const Ran train = RunMurmurate(
      place.path(), {"train", "gridworld", "--seed", "3", "--steps", "100000", "--quiet"}, 100);
  ASSERT_EQ(train.code, 0) << train.errors;
  EXPECT_EQ(train.errors, "");
  auto client = Client::Open(
      {.policy = PolicySource::FromFile(place.path() + "/runs/gridworld/checkpoints/latest/"
                                                       "weights.safetensors")});
  ASSERT_TRUE(client.ok()) << client.status();
  Gridworld game;
  game.Reset(1);
  for (const PlayMode mode : {PlayMode::kTrain, PlayMode::kSilent}) {
    Agent agent = (*client)->NewAgent(
        {.observation = game.spaces().observation, .action = game.spaces().action});
    agent.Mode(mode);
    Action action;
    int forbidden_choices = 0, forbidden_taken = 0;
    for (int step = 0; step < 20'000; ++step) {
      agent.Act(game.observation(), &action);
      for (const std::uint8_t allowed : game.mask()) forbidden_choices += allowed == 0;
      const bool taken = game.mask()[static_cast<std::size_t>(action.choice())] == 0;
      forbidden_taken += taken;
      if (taken) continue;  // Step would abort
      const StepOutcome outcome = game.Step(action);
      if (!outcome.terminated && !outcome.truncated) continue;
      agent.End(outcome.terminated ? kTerminated : kTruncated, game.observation());
      game.Reset();
    }
    EXPECT_GT(forbidden_choices, 20'000);  // a cell has 4 sides, and most have a wall or the edge
    EXPECT_EQ(forbidden_taken, 0);
  }
}

/// `train` of several processes, and greedy play of what is left; `eval` gives the same twice.
/// Training ends an update after its own episodes reach the mean, and one update may spoil a
/// policy: of three seeds the median is asked.
TEST(Games, CatchIsTrainedByTwoProcessesAndPlayedGreedily) {
  std::vector<double> means;
  for (const std::string seed : {"3", "4", "5"}) {
    const std::string run = UniqueRun();
    Workplace place;
    const Ran train = RunMurmurate(
        place.path(), {"train", "catch", "--seed", seed, "--set", "run.name=" + run}, 100);
    ASSERT_EQ(train.code, 0) << train.output << train.errors;
    EXPECT_THAT(train.output, HasSubstr("Solved: "));
    EXPECT_EQ(train.errors, "");
    const Ran eval = RunMurmurate(place.path(), {"eval", run}, 60);
    means.push_back(MeanOfEval(eval));
    EXPECT_EQ(RunMurmurate(place.path(), {"eval", run}, 60).output, eval.output);
    EXPECT_EQ(SegmentsOf(run), 0);
  }
  std::sort(means.begin(), means.end());
  EXPECT_GE(means[1], 0.8) << testing::PrintToString(means);
}

/// Without distractors the cue is still there when it is asked for: anybody learns that. Each step
/// of the curriculum asks to remember it for one step more.
TEST(Games, ACurriculumOfRecallIsClimbed) {
  Workplace place;
  place.Write("c.toml",
              "[run]\nenvironment = \"recall\"\nsteps = 200_000\nlog_interval_s = 0.05\n"
              "[model]\nlayers = []\nrecurrent = \"gru 32\"\nnormalize_observation = false\n"
              "[algorithm]\ntrajectory_length = 32\nbatch_steps = 1024\nepochs = 4\n"
              "minibatch = 256\nentropy = 0.01\n"
              "[optimizer]\nlearning_rate = 5e-3\n"
              "[settings]\ndistractors = {from = 0, to = 2, when = \"rollout/success_rate >= "
              "0.9\", episodes = 50}\n");
  const Ran train = RunMurmurate(place.path(), {"train", "c.toml", "--seed", "1"}, 100);
  EXPECT_EQ(train.code, 0) << train.output << train.errors;
  const std::string log = place.Read("runs/c/log.txt"), reports = place.Read("runs/c/reports.csv");
  const std::size_t first = log.find("setting distractors: 0 -> 1");
  ASSERT_NE(first, std::string::npos) << log;
  EXPECT_NE(log.find("setting distractors: 1 -> 2", first), std::string::npos) << log;
  // However many episodes came before the first row, the earliest were played without distractors.
  double first_mean = 2;
  const std::size_t row = reports.find(",settings/distractors,");
  ASSERT_NE(row, std::string::npos) << reports;
  std::sscanf(reports.c_str() + row, ",settings/distractors,%lf", &first_mean);
  EXPECT_LT(first_mean, 2);
  EXPECT_THAT(reports, HasSubstr(",settings/distractors,2,"));
  const std::string progress = place.Read("runs/c/progress.csv");
  EXPECT_THAT(progress, HasSubstr("rollout/success_rate"));
  // `eval` plays what the curriculum led to.
  EXPECT_GT(MeanOfEval(RunMurmurate(place.path(), {"eval", "c"}, 60)), 0.6);
}

/// The policy would be given up at every step, and 100 episodes of random play would look like a
/// score.
TEST(Games, EvalOfWeightsWhoseOutputsOverflowIsThreeAndSaysSo) {
  PolicyAndValue spec{.spaces = {Box({4}), Discrete(2)}, .trunk = {{64, Activation::kTanh}}};
  WeightsFile huge{spec, 1, 0, AlignedFloats(ParameterLayout(spec).total)};
  std::ranges::fill(huge.parameters, 3e38f);
  Workplace place;
  place.Write("huge.safetensors", FormatWeightsFile(huge, false));
  const std::string address = "ipc://" + place.path() + "/main";
  place.Write("c.toml", "[run]\nenvironment = \"cartpole\"\n[server]\nlisten = [\"" + address +
                            "\"]\n[model]\nlayers = [64]\nnormalize_observation = false\n"
                            "initialize_from = \"huge.safetensors\"\n");
  Process serve(place.path(), {"serve", "c.toml"});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  const Ran actor =
      RunMurmurate(place.path(), {"actor", "cartpole", "--connect", address, "--steps", "10"}, 60);
  ASSERT_EQ(actor.code, 0) << actor.errors;
  serve.Send(SIGTERM);
  ASSERT_EQ(serve.Wait(10), 0) << serve.Errors();
  const Ran eval = RunMurmurate(place.path(), {"eval", "c"}, 60);
  EXPECT_EQ(eval.code, 3) << eval.output;
  EXPECT_THAT(eval.errors, HasSubstr("outputs that are not finite"));
}

TEST(Games, AnActorOfEachGameIsTaughtByABareServe) {
  for (const char* name : {"acrobot", "bandit", "catch", "chain", "gridworld", "mountain_car",
                           "mountain_car_continuous", "pendulum", "recall", "regulator"}) {
    Workplace place;
    const std::string address = "ipc://" + place.path() + "/main";
    Process serve(place.path(), {"serve", "--set", "server.listen=[\"" + address + "\"]", "--set",
                                 "algorithm.batch_steps=256", "--steps", "1024"});
    const Ran actor = RunMurmurate(place.path(), {"actor", name, "--connect", address}, 60);
    EXPECT_EQ(actor.code, 0) << name << actor.errors;
    EXPECT_THAT(actor.output, HasSubstr("played ")) << name;
    EXPECT_EQ(serve.Wait(20), 0) << name << serve.Output() << serve.Errors();
  }
}

}  // namespace
}  // namespace murmurate
