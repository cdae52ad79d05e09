// Runs that stop or die and go on, as processes see them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

/// A serve of CartPole with small batches on an endpoint of its own.
class Resumed : public ::testing::Test {
 protected:
  std::string Config(const std::string& more,
                     const std::string& algorithm = "minibatch = 64\nepochs = 2\n") const {
    return place_.Write("small.toml", "[run]\nenvironment = \"" + environment_ +
                                          "\"\nseed = 3\nlog_interval_s = 0.2\n"
                                          "[server]\nlisten = [\"" +
                                          address_ +
                                          "\"]\n"
                                          "[model]\nlayers = [16]\nnormalize_observation = true\n"
                                          "[algorithm]\ntrajectory_length = 32\nbatch_steps = 256\n"
                                          "normalize_reward = true\n" +
                                          algorithm + more);
  }
  std::vector<std::string> Serve(const std::string& run, const std::string& config,
                                 const std::string& steps) const {
    return {"serve",
            config,
            "--quiet",
            "--set",
            "run.name=" + run,
            "--set",
            "run.stop_at_steps=" + steps};
  }
  std::vector<std::string> Actor(const std::string& pace) const {
    return {"actor",    environment_, "--connect", address_, "--pace", pace,
            "--agents", "2",          "--seed",    "7",      "--name", "a"};
  }
  std::string Weights(const std::string& run) const {
    return place_.Read("runs/" + run + "/checkpoints/latest/weights.safetensors");
  }
  /// Of the learner that runs now; 0 when there is none, or it has not learned.
  std::uint64_t Now(const char* what) const {
    const auto status = nlohmann::json::parse(
        RunMurmurate(place_.path(), {"status", "--json"}).output, nullptr, false);
    if (!status.is_object() || status["models"].empty()) return 0;
    return status["models"][0][what];
  }
  /// The first column of progress.csv.
  std::vector<std::uint64_t> Steps(const std::string& run) const {
    std::vector<std::uint64_t> steps;
    std::istringstream rows(place_.Read("runs/" + run + "/progress.csv"));
    std::string row;
    for (std::getline(rows, row); std::getline(rows, row);) steps.push_back(std::stoull(row));
    return steps;
  }

  /// The step of the newest checkpoint that lies there.
  std::uint64_t NewestSaved(const std::string& run) const {
    std::uint64_t newest = 0;
    const std::string checkpoint_folder = place_.path() + "/runs/" + run + "/checkpoints";
    std::error_code none_yet;
    for (const auto& entry : std::filesystem::directory_iterator(checkpoint_folder, none_yet)) {
      const std::string name = entry.path().filename();
      if (name.starts_with("step-"))
        newest = std::max<std::uint64_t>(newest, std::stoull(name.substr(5)));
    }
    return newest;
  }

  Workplace place_;
  const std::string address_ = "ipc://" + place_.path() + "/main";
  std::string environment_ = "cartpole";
};

/// Of an algorithm, with an optimizer whose state a checkpoint must hold, too.
struct Learning {
  const char *name, *algorithm, *optimizer, *environment = "cartpole", *end = "200000";
};
class ResumedBitForBit : public Resumed, public ::testing::WithParamInterface<Learning> {
 protected:
  ResumedBitForBit() { environment_ = GetParam().environment; }
};
constexpr char kReplay[] =
    "[replay]\nminibatch = 32\nsamples_per_insert = 2\nlearning_starts = 1000\ncapacity = 6000\n";
const std::string kDqn = std::string("name = \"dqn\"\n") + kReplay + "priority_exponent = 0.6\n",
                  kSac = std::string("name = \"sac\"\n") + kReplay,
                  kTd3 = std::string("name = \"td3\"\n") + kReplay;
INSTANTIATE_TEST_SUITE_P(
    , ResumedBitForBit,
    ::testing::Values(Learning{"ppo_adam", "minibatch = 64\nepochs = 2\n", "adam"},
                      Learning{"ppo_momentum", "minibatch = 64\nepochs = 2\n", "momentum"},
                      Learning{"ppo_adagrad", "minibatch = 64\nepochs = 2\n", "adagrad"},
                      Learning{"impala_rmsprop", "name = \"impala\"\n", "rmsprop"},
                      Learning{"a2c_rmsprop", "name = \"a2c\"\nstaleness = \"drop\"\n", "rmsprop"},
                      Learning{"a2c_sgd", "name = \"a2c\"\n", "sgd"},
                      Learning{"dqn_adam", kDqn.c_str(), "adam", "cartpole", "300000"},
                      Learning{"sac_adam", kSac.c_str(), "adam", "pendulum", "100000"},
                      Learning{"td3_adam", kTd3.c_str(), "adam", "pendulum", "100000"}),
    [](const auto& learning) { return std::string(learning.param.name); });

TEST_P(ResumedBitForBit, InLockstepARunThatWasStoppedEndsWithTheBitsOfOneThatWasNot) {
  const std::string end = GetParam().end,
                    config = Config("[optimizer]\nname = \"" + std::string(GetParam().optimizer) +
                                        "\"\nlearning_rate = 1e-3\n",
                                    GetParam().algorithm);
  {
    Process serve(place_.path(), Serve("whole", config, end));
    Process actor(place_.path(), Actor("lockstep"));
    ASSERT_EQ(serve.Wait(60), 0) << serve.Errors();
    ASSERT_EQ(actor.Wait(5), 0) << actor.Errors();
  }
  ASSERT_FALSE(Weights("whole").empty());

  Process serve(place_.path(), Serve("halved", config, end));
  Process actor(place_.path(), Actor("lockstep"));
  ASSERT_TRUE(Eventually(20, [&] { return Now("version") > 5; })) << serve.Errors();
  const Ran stop = RunMurmurate(place_.path(), {"stop", "halved", "--resume-follows"});
  ASSERT_EQ(stop.code, 0) << stop.errors;
  ASSERT_EQ(serve.Wait(5), 0) << serve.Errors();
  ASSERT_LT(Steps("halved").back(), std::stoull(end)) << "stopped too late to show anything";
  EXPECT_TRUE(actor.running()) << "it waits";
  Process resume(place_.path(), {"resume", "halved", "--quiet"});
  EXPECT_EQ(resume.Wait(60), 0) << resume.Errors();
  EXPECT_EQ(actor.Wait(5), 0) << actor.Errors();
  EXPECT_EQ(Steps("halved").back(), Steps("whole").back());
  EXPECT_TRUE(Weights("halved") == Weights("whole")) << "it did not go on where it was";
}

TEST_F(Resumed, ARateThatWasSetByHandComesBack) {
  Process serve(place_.path(), Serve("set", Config(""), "100000000"));
  Process actor(place_.path(), Actor("lockstep"));
  ASSERT_TRUE(Eventually(20, [&] { return Now("version") > 2; })) << serve.Errors();
  const Ran set = RunMurmurate(place_.path(), {"set", "set", "optimizer.learning_rate=1.25e-5"});
  ASSERT_EQ(set.code, 0) << set.errors;
  const Ran stop = RunMurmurate(place_.path(), {"stop", "set", "--resume-follows"});
  ASSERT_EQ(serve.Wait(5), 0) << serve.Errors();
  const auto saved = nlohmann::json::parse(place_.Read("runs/set/checkpoints/latest/state.json"));
  const std::uint64_t version = std::stoull(saved["version"].get<std::string>());
  Process resume(place_.path(), {"resume", "set", "--quiet"});
  ASSERT_TRUE(Eventually(20, [&] { return Now("version") > version + 3; })) << resume.Errors();
  resume.Send(SIGTERM);
  EXPECT_EQ(resume.Wait(10), 0) << resume.Errors();
  EXPECT_EQ(actor.Wait(5), 0) << actor.Errors();
  const std::string all = place_.Read("runs/set/progress.csv");
  EXPECT_THAT(all.substr(all.rfind('\n', all.size() - 2)), HasSubstr(",1.25e-05,"));
}

TEST_F(Resumed, ACheckpointsWeightsProgressAndFolderAreOfTheSameSteps) {
  Process serve(
      place_.path(),
      Serve("steps", Config("[checkpoint]\nevery_steps = 512\nevery_s = 0\nkeep = 1000\n"),
            "60000"));
  Process actor(place_.path(), Actor("lockstep"));
  ASSERT_EQ(serve.Wait(60), 0) << serve.Errors();
  ASSERT_EQ(actor.Wait(5), 0) << actor.Errors();
  int seen = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(place_.path() + "/runs/steps/checkpoints")) {
    if (!entry.path().filename().string().starts_with("step-")) continue;
    const auto state = nlohmann::json::parse(
        place_.Read("runs/steps/checkpoints/" + entry.path().filename().string() + "/state.json"));
    const auto& counters = state["words"]["progress.counters"];
    EXPECT_EQ(counters[0], state["steps"]) << entry;
    EXPECT_EQ(counters[4], state["version"]) << entry;
    // In lock-step each version is of one batch more: 256 steps.
    const auto version = std::stoull(state["version"].get<std::string>());
    EXPECT_EQ(state["steps"], std::to_string((version - 1) * 256)) << entry;
    ++seen;
  }
  EXPECT_GT(seen, 1);
}

TEST_F(Resumed, TheLastCheckpointKnowsWhatItsWeightsCameTo) {
  Process serve(place_.path(), Serve("last", Config("[evaluation]\nepisodes = 3\n"), "2000"));
  Process actor(place_.path(), Actor("lockstep"));
  ASSERT_EQ(serve.Wait(60), 0) << serve.Errors();
  ASSERT_EQ(actor.Wait(5), 0) << actor.Errors();
  const auto state = nlohmann::json::parse(place_.Read("runs/last/checkpoints/latest/state.json"));
  const auto& words = state["words"];
  ASSERT_TRUE(words.contains("progress.evaluation_of")) << words.dump(1);
  EXPECT_EQ(words["progress.evaluation_of"][0], state["steps"]);
  EXPECT_EQ(words["progress.evaluation_of"][1], state["version"]);
}

class ResumedAfterKillNine : public ResumedBitForBit {};
INSTANTIATE_TEST_SUITE_P(, ResumedAfterKillNine,
                         ::testing::Values(Learning{"ppo", "minibatch = 64\nepochs = 2\n", ""},
                                           Learning{"sac", kSac.c_str(), "", "pendulum"},
                                           Learning{"td3", kTd3.c_str(), "", "pendulum"}),
                         [](const auto& learning) { return std::string(learning.param.name); });

TEST_P(ResumedAfterKillNine, ItsActorsPlayOnAndItLearnsOn) {
  const std::string config =
      Config("[checkpoint]\nevery_steps = 2000\nevery_s = 0\n", GetParam().algorithm);
  auto learner = std::make_unique<Process>(place_.path(), Serve("killed", config, "100000000"));
  Process actor(place_.path(), Actor("credit"));
  std::mt19937 random(11);
  std::uint64_t steps = 0;
  for (int kill = 0; kill < 3; ++kill) {
    const std::uint64_t until = steps + 4000 + random() % 4000;
    ASSERT_TRUE(Eventually(20, [&] {
      return (steps = Now("steps")) > until && NewestSaved("killed") > 0;
    })) << learner->Errors();
    learner->Send(SIGKILL);
    learner->Wait(5);
    const std::uint64_t saved = NewestSaved("killed");
    EXPECT_GT(saved, 0u);
    learner = std::make_unique<Process>(place_.path(),
                                        std::vector<std::string>{"resume", "killed", "--quiet"});
    ASSERT_TRUE(Eventually(20, [&] { return (steps = Now("steps")) > 0; })) << learner->Errors();
    EXPECT_GE(steps, saved) << "it began anew";
    EXPECT_TRUE(actor.running());
  }
  const std::uint64_t version = Now("version");
  EXPECT_TRUE(Eventually(20, [&] { return Now("version") > version + 5; })) << "it learns on";
  learner->Send(SIGTERM);
  EXPECT_EQ(learner->Wait(10), 0) << learner->Errors();
  EXPECT_EQ(actor.Wait(5), 0) << actor.Errors();
  const auto rows = Steps("killed");
  EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end())) << "steps went backwards";
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(Resumed, WhatCannotGoOnSaysWhyAndWhatToDo) {
  const std::string config = Config("");
  {
    Process serve(place_.path(), Serve("done", config, "1000"));
    Process actor(place_.path(), Actor("credit"));
    ASSERT_EQ(serve.Wait(20), 0) << serve.Errors();
  }
  const Ran over = RunMurmurate(place_.path(), {"resume", "done"});
  EXPECT_EQ(over.code, 0) << over.errors;
  EXPECT_THAT(over.output, HasSubstr("has learned from its steps already"));
  EXPECT_THAT(over.output, HasSubstr("--set run.stop_at_steps="));

  const Ran other = RunMurmurate(place_.path(), {"resume", "done", "--set", "model.layers=[32]",
                                                 "--set", "run.stop_at_steps=2000"});
  EXPECT_EQ(other.code, 3) << other.output;
  EXPECT_THAT(other.errors, HasSubstr("dense 16"));
  EXPECT_EQ(std::count(other.errors.begin(), other.errors.end(), '\n'), 1) << other.errors;

  const Ran taken = RunMurmurate(place_.path(), Serve("done", config, "2000"));
  EXPECT_EQ(taken.code, 2);
  EXPECT_THAT(taken.errors, HasSubstr("murmurate resume runs/done"));

  namespace fs = std::filesystem;
  for (const auto& entry : fs::directory_iterator(place_.path() + "/runs/done/checkpoints"))
    if (fs::exists(entry.path() / "state.json"))
      place_.Write(fs::relative(entry.path() / "state.json", place_.path()).string(), "{}");
  const Ran bent =
      RunMurmurate(place_.path(), {"resume", "done", "--set", "run.stop_at_steps=2000"});
  EXPECT_EQ(bent.code, 3) << bent.output;
  EXPECT_THAT(bent.errors, HasSubstr("state.json"));

  const Ran none = RunMurmurate(place_.path(), {"resume", "nobody"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("nobody"));
}

TEST_F(Resumed, ATrainedRunStartsItsActorsAgain) {
  const Ran train =
      RunMurmurate(place_.path(), {"train", Config(""), "--quiet", "--set", "run.name=t", "--set",
                                   "run.actors=2", "--set", "run.stop_at_steps=3000"});
  ASSERT_EQ(train.code, 0) << train.errors;
  const std::uint64_t before = Steps("t").back();
  const Ran more = RunMurmurate(place_.path(), {"resume", "t", "--set", "run.stop_at_steps=12000"});
  EXPECT_EQ(more.code, 0) << more.errors;
  EXPECT_THAT(more.output, HasSubstr("Done: "));
  EXPECT_GE(before, 3000u);
  EXPECT_GE(Steps("t").back(), 12000u);
  EXPECT_FALSE(place_.Has("runs/t-2"));
}

// A run of a version that knew no scaled boxes has no such key in its config.
TEST_F(Resumed, ARunWithoutScaledBoxesKeepsTheUnitsOfItsActions) {
  place_.Write("p.toml",
               "[run]\nenvironment = \"pendulum\"\nactors = 1\n[model]\nlayers = [8]\n"
               "[algorithm]\ntrajectory_length = 32\nbatch_steps = 256\n");
  const auto train = [&](const std::string& run, const std::string& scale) {
    return RunMurmurate(place_.path(),
                        {"train", "p.toml", "--quiet", "--set", "run.name=" + run, "--set",
                         "run.stop_at_steps=1000", "--set", "model.scale_actions=" + scale});
  };
  ASSERT_EQ(train("old", "false").code, 0);
  EXPECT_EQ(Weights("old").find("scale box"), std::string::npos);
  const std::string config = place_.Read("runs/old/config.toml"), line = "scale_actions = false\n";
  ASSERT_NE(config.find(line), std::string::npos);
  place_.Write("runs/old/config.toml", std::string(config).erase(config.find(line), line.size()));
  const auto resume = [&](const std::vector<std::string>& more, int steps = 8000) {
    std::vector<std::string> words{"resume", "old", "--set",
                                   "run.stop_at_steps=" + std::to_string(steps)};
    words.insert(words.end(), more.begin(), more.end());
    return RunMurmurate(place_.path(), words);
  };
  const Ran other = resume({"--set", "model.scale_actions=true"});
  EXPECT_EQ(other.code, 3) << other.output;
  EXPECT_THAT(other.errors, HasSubstr("scale box"));
  // The second finds the config that the first wrote. A run learns some batches beyond its end.
  for (const int steps : {8000, 16000}) {
    const Ran same = resume({}, steps);
    EXPECT_EQ(same.code, 0) << same.errors;
    EXPECT_GE(Steps("old").back(), static_cast<std::uint64_t>(steps));
  }
  EXPECT_EQ(Weights("old").find("scale box"), std::string::npos);
  ASSERT_EQ(train("new", "true").code, 0);
  EXPECT_NE(Weights("new").find("scale box"), std::string::npos);
}

// Pictures had two trunks once, and the configs of such runs do not say so.
TEST_F(Resumed, ARunWhosePicturesHaveTwoTrunksKeepsThem) {
  place_.Write("c.toml",
               "[run]\nenvironment = \"catch\"\nactors = 1\n[algorithm]\ntrajectory_length = 32\n"
               "batch_steps = 256\nepochs = 1\n");
  const std::string line = "separate_value = true\n", value = "value.0.weight";
  const auto train = [&](std::vector<std::string> more) {
    std::vector<std::string> words{"train", "c.toml", "--quiet", "--set", "run.stop_at_steps=500"};
    words.insert(words.end(), more.begin(), more.end());
    return RunMurmurate(place_.path(), words).code;
  };
  ASSERT_EQ(train({"--set", "run.name=old", "--set", "model.separate_value=true"}), 0);
  ASSERT_EQ(train({"--set", "run.name=new"}), 0);
  EXPECT_NE(Weights("old").find(value), std::string::npos);
  EXPECT_EQ(Weights("new").find(value), std::string::npos);
  const std::string config = place_.Read("runs/old/config.toml");
  ASSERT_NE(config.find(line), std::string::npos);
  place_.Write("runs/old/config.toml", std::string(config).erase(config.find(line), line.size()));
  const Ran same =
      RunMurmurate(place_.path(), {"resume", "old", "--set", "run.stop_at_steps=4000"});
  EXPECT_EQ(same.code, 0) << same.errors;
  EXPECT_NE(Weights("old").find(value), std::string::npos);
}

TEST_F(Resumed, ServeResumeStartsWhereThereIsNothingToGoOnFrom) {
  auto serve = Serve("s", Config(""), "1000");
  serve.push_back("--resume");
  for (const char* steps : {"1000", "2000"}) {
    serve[6] = "run.stop_at_steps=" + std::string(steps);
    Process learner(place_.path(), serve);
    Process actor(place_.path(), Actor("credit"));
    ASSERT_EQ(learner.Wait(20), 0) << learner.Errors();
  }
  EXPECT_GE(Steps("s").back(), 2000u);
  EXPECT_FALSE(place_.Has("runs/s.1"));
}

}  // namespace
}  // namespace murmurate
