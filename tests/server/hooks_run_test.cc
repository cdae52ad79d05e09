// Hooks of the real executable: what they do in a run, and that a run loses nothing by them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "shared/core/clock.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

/// One actor and small batches, so that a run takes a second.
constexpr char kSmall[] =
    "[run]\nenvironment = \"cartpole\"\nactors = 1\nagents = 4\nlog_interval_s = 0.2\n"
    "steps = 100_000_000\n[algorithm]\ntrajectory_length = 64\nbatch_steps = 1024\n"
    "minibatch = 256\nepochs = 1\n[evaluation]\nevery = 0\n[checkpoint]\nevery_s = 0\n";

std::string LastCell(const Workplace& place, const std::string& run, const std::string& name) {
  std::istringstream lines(place.Read("runs/" + run + "/progress.csv"));
  std::string line, last;
  std::getline(lines, line);
  const std::string before = line.substr(0, line.find(name));
  const auto column = std::count(before.begin(), before.end(), ',');
  while (std::getline(lines, line)) last = line;
  std::istringstream cells(last);
  std::string cell;
  for (auto i = column; i >= 0; --i) std::getline(cells, cell, ',');
  return cell;
}

TEST(HooksRun, BuiltInHooksDoWhatTheySayAndAHookEndsTheRun) {
  const Workplace place;
  place.Write("c.toml", std::string(kSmall) +
                            "[[hook]]\nkind = \"logging\"\nmetrics = [\"train/value_loss\"]\n"
                            "every_steps = 2048\n"
                            "[[hook]]\nkind = \"step_counter\"\nevery_steps = 2048\n"
                            "[[hook]]\nkind = \"checkpoint_saver\"\nevery_steps = 2048\n"
                            "[[hook]]\nkind = \"summary_saver\"\nmetrics = [\"rollout/episodes\"]\n"
                            "every_steps = 2048\n"
                            "[[hook]]\nkind = \"final_evaluation\"\nepisodes = 5\n"
                            "[[hook]]\nkind = \"command\"\ncommand = \"cat\"\n"
                            "[[hook]]\nkind = \"stop_at_step\"\nsteps = 12_288\n");
  const Ran ran = RunMurmurate(place.path(), {"train", "c.toml"}, 60);
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("Ended by a hook: "));
  const std::string log = place.Read("runs/c/log.txt");
  EXPECT_THAT(log, HasSubstr("hook stop_at_step ends the run: step "));
  EXPECT_THAT(log, HasSubstr("hook logging: model default, step 3,072: train/value_loss "));
  EXPECT_THAT(log, HasSubstr("hook step_counter: step 3,072: "));
  EXPECT_THAT(log, HasSubstr("hook final_evaluation: mean return "));
  EXPECT_THAT(log, HasSubstr(" over 5 episodes without exploration"));
  EXPECT_THAT(place.Read("runs/c/hooks/summary_saver.csv"),
              HasSubstr("model,steps,rollout/episodes\ndefault,3072,"));
  int checkpoints = 0;  // the last one, and at least another: it keeps three
  for (const auto& entry : fs::directory_iterator(place.path() + "/runs/c/checkpoints"))
    checkpoints += entry.path().filename().string().starts_with("step-") ? 1 : 0;
  EXPECT_GE(checkpoints, 2);
  const std::string events = place.Read("runs/c/hooks/command.log");
  const auto at = [&](const char* name, std::size_t from = 0) {
    return events.find("\"event\":\"" + std::string(name) + '"', from);
  };
  EXPECT_THAT(events, HasSubstr("\"reason\":\"training is over: hook stop_at_step: step "));
  std::size_t place_of = at("begin");
  for (const char* next :
       {"before_batch", "version", "episode", "after_batch", "checkpoint", "end"}) {
    const std::size_t found = at(next, place_of);
    EXPECT_NE(found, events.npos) << next << '\n' << events.substr(0, 4000);
    place_of = std::min(found, events.size());
  }
  EXPECT_EQ(place.LeftBehind(), "");
}

/// A batch is under way when a hook ends the run: its numbers are told as those of any other.
TEST(HooksRun, TheEndComesAfterTheNumbersOfTheLastBatch) {
  using Json = nlohmann::json;
  const Workplace place;
  place.Write("c.toml", std::string(kSmall) +
                            "[[hook]]\nkind = \"command\"\ncommand = \"cat\"\n"
                            "[[hook]]\nkind = \"stop_at_step\"\nsteps = 8192\n");
  const Ran ran = RunMurmurate(place.path(),
                               {"train", "c.toml", "--set", "algorithm.batch_steps=256", "--set",
                                "evaluation.every=1", "--set", "evaluation.episodes=3"},
                               60);
  EXPECT_EQ(ran.code, 0) << ran.errors;
  std::istringstream lines(place.Read("runs/c/hooks/command.log"));
  std::map<std::string, Json> last;
  std::map<std::string, int> count;
  for (std::string line; std::getline(lines, line);) {
    Json event = Json::parse(line, nullptr, false);
    ASSERT_TRUE(event.is_object()) << line;
    const std::string name = event["event"];
    ++count[name];
    last[name] = std::move(event);
  }
  EXPECT_GE(last["end"]["steps"], 8192);
  EXPECT_EQ(count["before_batch"], count["after_batch"]);
  EXPECT_EQ(last["end"]["steps"], last["after_batch"]["steps"]);
  EXPECT_EQ(last["end"]["steps"], last["checkpoint"]["steps"]);
  EXPECT_EQ(last["end"]["version"], last["after_batch"]["version"]);
  EXPECT_EQ(last["end"]["metrics"]["train/updates"],
            last["after_batch"]["metrics"]["train/updates"]);
  const std::string evaluated = LastCell(place, "c", "eval/mean_reward");
  ASSERT_NE(evaluated, "");
  ASSERT_TRUE(last["end"]["metrics"].contains("eval/mean_reward")) << last["end"];
  EXPECT_NEAR(last["end"]["metrics"]["eval/mean_reward"].get<double>(), std::stod(evaluated), 0.01)
      << "of the last weights, after that batch";
}

TEST(HooksRun, ALossOfLabelsEndsATrainingOnDataFiles) {
  const Workplace place;
  place.Write("c.toml",
              "[model]\nlayers = [32]\n[algorithm]\nname = \"supervised\"\n"
              "[optimizer]\nlearning_rate = 5e-3\n[data]\nobservations = \"x.npy\"\n"
              "labels = \"y.npy\"\nexample = \"curve\"\npasses = 1000\n"
              "[[hook]]\nkind = \"command\"\ncommand = \"cat\"\n"
              "[[hook]]\nkind = \"stop_at_loss\"\nvalue = 0.02\n");
  const Ran ran = RunMurmurate(place.path(), {"train", "c.toml"}, 60);
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("Ended by a hook: "));
  EXPECT_THAT(place.Read("runs/c/log.txt"),
              HasSubstr("hook stop_at_loss ends the run: train/loss 0.0"));
  EXPECT_THAT(place.Read("runs/c/hooks/command.log"), HasSubstr("\"train/loss\":0.0"));
}

TEST(HooksRun, GetTheBatchesOfAStreamAndEndIt) {
  const Workplace place;
  place.Write("c.toml",
              "[server]\nlisten = [\"ipc\"]\n[stream.temp]\nlisten = \"tcp://127.0.0.1:*\"\n"
              "fields = [\"temp\", \"hum\", \"vib\"]\ntarget = \"temp\"\nhorizon = 1\n"
              "[[hook]]\nkind = \"command\"\ncommand = \"cat\"\n"
              "[[hook]]\nkind = \"stop_at_step\"\nsteps = 5\n");
  Process serve(place.path(), {"serve", "c.toml"});
  const std::string before = "listens on ";
  ASSERT_TRUE(serve.Says(before + "tcp://")) << serve.Errors();
  std::string address = serve.Errors().substr(serve.Errors().find(before) + before.size());
  address = address.substr(0, address.find_first_of(" \n"));
  Process sensors(place.path(), {"actor", "sensors", "--connect", address, "--seconds", "20"});
  EXPECT_EQ(serve.Wait(30), 0) << serve.Errors();
  EXPECT_THAT(place.Read("runs/c/log.txt"), HasSubstr("hook stop_at_step ends the run: step "));
  const std::string events = place.Read("runs/c/hooks/command.log");
  EXPECT_THAT(events, HasSubstr("\"event\":\"after_batch\",\"finite\":true"));
  EXPECT_THAT(events, HasSubstr("\"model\":\"temp\""));
  EXPECT_THAT(events, HasSubstr("hook stop_at_step: step "));
}

TEST(HooksRun, AResumedRunHasTheHooksOfItsConfig) {
  const Workplace place;
  place.Write("c.toml", std::string(kSmall) + "[[hook]]\nkind = \"stop_at_step\"\nsteps = 2048\n");
  ASSERT_EQ(RunMurmurate(place.path(), {"train", "c.toml"}, 60).code, 0);
  const Ran again = RunMurmurate(place.path(), {"resume", "runs/c"}, 60);
  EXPECT_EQ(again.code, 0) << again.errors;
  EXPECT_THAT(again.output, HasSubstr("Ended by a hook: ")) << again.errors;
}

/// With these the first batch already leaves weights that are no numbers.
constexpr char kNan[] =
    "[model]\nactivation = \"relu\"\n[optimizer]\nname = \"sgd\"\nlearning_rate = 100\n";
const std::vector<std::string> kTrainUnclipped = {"train", "c.toml",
                                                  "--set", "algorithm.max_grad_norm=0",
                                                  "--set", "algorithm.normalize_reward=false",
                                                  "--set", "run.on_collapse=off"};

TEST(HooksRun, TheNanGuardEndsTheRun) {
  const Workplace place;
  place.Write("c.toml", std::string(kSmall) + kNan + "[[hook]]\nkind = \"nan_guard\"\n");
  const Ran ran = RunMurmurate(place.path(), kTrainUnclipped, 60);
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, HasSubstr("Ended by a hook: "));
  EXPECT_THAT(ran.errors, HasSubstr("hook nan_guard ends the run: losses or gradients of model "
                                    "default are not finite numbers at step "));
}

TEST(HooksRun, TheNanGuardGoesBackAndLearnsOnAtALowerRate) {
  const Workplace place;
  place.Write("c.toml", std::string(kSmall) + kNan +
                            "[[hook]]\nkind = \"nan_guard\"\naction = \"restore\"\n"
                            "rate_factor = 0.0001\ntimes = 10\n"
                            "[[hook]]\nkind = \"stop_at_step\"\nsteps = 40_960\n");
  const Ran ran = RunMurmurate(place.path(), kTrainUnclipped, 60);
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.errors, HasSubstr("it goes back to the weights that this life of the run began "
                                    "with at 0.0001 of its learning rate (1 of at most 10 times)"));
  EXPECT_THAT(place.Read("runs/c/log.txt"), HasSubstr("hook stop_at_step ends the run"));
  EXPECT_LE(std::stod(LastCell(place, "c", "train/learning_rate")), 0.01);
}

TEST(HooksRun, FeedSetsARateFromAFile) {
  const Workplace place;
  place.Write("rate", "0.00125\n");
  place.Write("c.toml", std::string(kSmall) +
                            "[[hook]]\nkind = \"feed\"\nsetting = \"optimizer.learning_rate\"\n"
                            "file = \"rate\"\nevery_steps = 1024\n"
                            "[[hook]]\nkind = \"stop_at_step\"\nsteps = 65536\n");
  const Ran ran = RunMurmurate(place.path(), {"train", "c.toml"}, 60);
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(place.Read("runs/c/log.txt"),
              HasSubstr("set by a hook: optimizer.learning_rate: 0.0003 -> 0.00125"));
  EXPECT_EQ(LastCell(place, "c", "train/learning_rate"), "0.00125");
}

/// The same run without a hook, and beside one that sleeps, crashes, or fills its pipe: each learns
/// from every step of its budget, none is lost, and it ends in time.
TEST(HooksRun, AHookThatSleepsCrashesOrDoesNotReadLosesNoExperience) {
  for (const std::string& hook :
       {std::string(),
        std::string("kind = \"command\"\ncommand = \"while read line; do sleep 5; done\"\n"
                    "queue = 4\nend_s = 0.2\n"),
        std::string("kind = \"command\"\ncommand = \"read line; kill -SEGV $$\"\n"
                    "restart_s = 0.01\nrestarts = 3\nend_s = 0.2\n"),
        std::string("kind = \"command\"\ncommand = \"sleep 60\"\nqueue = 4\nread_s = 60\n"
                    "end_s = 0.2\n"),
        std::string("kind = \"library\"\npath = \"" MURMURATE_SLEEPING_HOOK "\"\nqueue = 4\n"
                    "end_s = 2\n")}) {
    const Workplace place;
    place.Write("c.toml",
                std::string(kSmall) + (hook.empty() ? "" : "[[hook]]\nname = \"own\"\n" + hook));
    const std::int64_t begin_ns = MonotonicNs();
    const Ran ran =
        RunMurmurate(place.path(), {"train", "c.toml", "--set", "run.stop_at_steps=10240"}, 60);
    EXPECT_EQ(ran.code, 0) << hook << ran.errors;
    EXPECT_LT(MonotonicNs() - begin_ns, 30 * kNanosecondsPerSecond) << hook;
    EXPECT_EQ(LastCell(place, "c", "train/trained_steps"), "10240") << hook;
    EXPECT_EQ(LastCell(place, "c", "perf/dropped_steps"), "0") << hook;
    EXPECT_EQ(LastCell(place, "c", "perf/late_steps"), "0") << hook;
    EXPECT_EQ(place.LeftBehind(), "") << hook;
    if (hook.find("SEGV") != hook.npos) {
      EXPECT_THAT(ran.errors, HasSubstr("hook own: the command was ended by signal 11"));
    }
    if (hook.find("library") != hook.npos) {
      EXPECT_THAT(ran.errors, HasSubstr("hook own: it takes too long at the end of the run"));
    }
  }
}

TEST(HooksRun, StatusShowsWhatEachHasTaken) {
  const Workplace place;
  place.Write("c.toml",
              std::string(kSmall) +
                  "[[hook]]\nkind = \"library\"\npath = \"" MURMURATE_SLEEPING_HOOK
                  "\"\nqueue = 4\nend_s = 0.1\n[[hook]]\nkind = \"logging\"\nevery_steps = 1024\n");
  Process learner(place.path(), {"train", "c.toml"});
  Ran status;
  EXPECT_TRUE(Eventually(30,
                         [&] {
                           status = RunMurmurate(place.path(), {"status", "runs/c"});
                           return status.output.find("inside a call for ") != std::string::npos;
                         }))
      << status.output << status.errors;
  EXPECT_THAT(status.output, HasSubstr("hook library (library): inside a call for "));
  EXPECT_THAT(status.output, HasSubstr("4 events wait, "));
  EXPECT_THAT(status.output, HasSubstr(" events dropped\n"));
  EXPECT_THAT(status.output, HasSubstr("hook logging (logging): runs; "));
  EXPECT_EQ(RunMurmurate(place.path(), {"stop", "runs/c"}).code, 0);
  EXPECT_EQ(learner.Wait(30), 0) << learner.Errors();
}

TEST(HooksRun, ALearnerWaitsForTheStepOfAnother) {
  const Workplace place;
  place.Write("c.toml", kSmall);
  Process first(place.path(), {"train", "c.toml", "--set", "run.name=first"});
  const std::string wait =
      "[[hook]]\nkind = \"wait_for_step\"\nof = \"runs/first\"\nstep = 6144\nfrom_worker = 0\n";
  place.Write("second.toml", std::string(kSmall) + wait);
  const Ran second =
      RunMurmurate(place.path(), {"train", "second.toml", "--set", "run.stop_at_steps=2048"}, 60);
  EXPECT_EQ(second.code, 0) << second.errors;
  EXPECT_THAT(place.Read("runs/second/log.txt"),
              HasSubstr("hook wait_for_step: learns since " + place.path() +
                        "/runs/first has come to step "));
  first.Send(SIGINT);
  EXPECT_EQ(first.Wait(30), 0);
  // A run that is not there is waited for as long as the key says: nothing is learned until then.
  const Ran alone = RunMurmurate(place.path(),
                                 {"train", "second.toml", "--set", "run.stop_at_steps=2048",
                                  "--set", "hook.1.of=runs/none", "--set", "hook.1.at_most_s=1"},
                                 60);
  EXPECT_EQ(alone.code, 0) << alone.errors;
  EXPECT_THAT(place.Read("runs/second-2/log.txt"),
              HasSubstr("learns since it has waited for 1.0 s; " + place.path() +
                        "/runs/none: no learner or shard of that run answers"));
  EXPECT_GE(std::stod(LastCell(place, "second-2", "time/time_elapsed")), 1.0);
}

}  // namespace
}  // namespace murmurate
