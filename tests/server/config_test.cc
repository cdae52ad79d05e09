#include "server/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "server/config/examples.h"
#include "server/schema/config_aliases.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

TEST(Config, BareDefaultsAreThoseOfTheDesign) {
  const auto config = Config::Load({"defaults", "serve", ""}, {});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->run().name, "serve");
  EXPECT_EQ(config->server().listen, (std::vector<std::string>{"tcp://127.0.0.1:7420", "ipc"}));
  const ModelSettings model = *ModelFor(*config, "default", kSpaces);
  EXPECT_EQ(model.spec.policy().trunk, (std::vector<Layer>(2, {64, Activation::kTanh})));
  EXPECT_TRUE(model.spec.Find("value")->shares.empty());
  EXPECT_TRUE(model.spec.normalize_observation);
  EXPECT_EQ(model.algorithm.trajectory_length, 128);
  EXPECT_EQ(model.algorithm.batch_steps, 2048);
  EXPECT_EQ(model.algorithm.epochs, 10);
  EXPECT_EQ(model.algorithm.minibatch, 256);
  EXPECT_EQ(model.algorithm.threads, 1);
  EXPECT_DOUBLE_EQ(model.algorithm.learning_rate.At(0), 3e-4);
  EXPECT_DOUBLE_EQ(model.algorithm.gamma, 0.99);
  EXPECT_DOUBLE_EQ(model.algorithm.lambda, 0.95);
  EXPECT_EQ(config->evaluation().episodes, 100);
  EXPECT_DOUBLE_EQ(config->evaluation().every, 0.05);
}

TEST(Config, SettingsAreNumbersSchedulesAndCurricula) {
  const auto config = Load(
      "[settings]\ndifficulty = {from = 0, to = 3, when = \"rollout/success_rate >= 0.8\", "
      "episodes "
      "= 50}\ngravity = 9\nwind = {from = 1, to = 2, steps = 100}\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const auto settings = config->game_settings();
  ASSERT_EQ(settings.size(), 3u);
  const auto& curriculum = std::get<Curriculum>(settings[0].rule);
  EXPECT_EQ(settings[0].name, "difficulty");
  EXPECT_EQ(curriculum.to, 3);
  EXPECT_EQ(curriculum.step, 1);
  EXPECT_EQ(curriculum.number, Curriculum::Number::kSuccess);
  EXPECT_TRUE(curriculum.at_least);
  EXPECT_EQ(curriculum.bound, 0.8);
  EXPECT_EQ(curriculum.episodes, 50);
  EXPECT_EQ(std::get<double>(settings[1].rule), 9);
  EXPECT_EQ(std::get<Schedule>(settings[2].rule).At(50), 1.5);
  const auto again = Load(ResolvedToml(*config));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ResolvedToml(*again), ResolvedToml(*config));
}

TEST(ConfigError, ASettingThatMakesNoSenseIsRefusedWithItsLine) {
  const auto refused = [](const std::string& value) {
    return Complaint("[settings]\n\nx = " + value + "\n");
  };
  EXPECT_THAT(refused("\"high\""), HasSubstr("c.toml:3: settings.x: got \"high\" (a string), "
                                             "expected a number, {from, to, steps, shape} or"));
  EXPECT_THAT(refused("{from = 0, to = 1}"), HasSubstr("a schedule without a horizon"));
  EXPECT_THAT(refused("{from = 1, to = 1, when = \"rollout/success_rate >= 0.8\"}"),
              HasSubstr("expected from and to to be two different numbers"));
  EXPECT_THAT(refused("{from = 0, to = 1, step = -1, when = \"rollout/success_rate >= 0.8\"}"),
              HasSubstr("expected a step above 0"));
  EXPECT_THAT(refused("{from = 0, to = 1, when = \"rollout/succes >= 0.8\"}"),
              HasSubstr("with one of rollout/success_rate, rollout/ep_rew_mean"));
  EXPECT_THAT(refused("{from = 0, to = 1, when = \"rollout/success_rate > 0.8\"}"),
              HasSubstr("expected when = \"NUMBER >= BOUND\""));
  EXPECT_THAT(refused("{from = 0, to = 1, when = \"rollout/success_rate >= 80\"}"),
              HasSubstr("expected a success rate between 0 and 1"));
  EXPECT_THAT(refused("{from = 0, to = 1, when = \"rollout/ep_rew_mean >= 8\", episodes = 0}"),
              HasSubstr("expected episodes from 1 to 10000"));
  EXPECT_THAT(Complaint("[settings]\n\"two words\" = 1\n"), HasSubstr("a setting's name has"));
}

TEST(Config, EvaluationSaysHowManyEpisodesAndHowOften) {
  const auto config = Load("[evaluation]\nepisodes = 7\nevery = 0\n");
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->evaluation().episodes, 7);
  EXPECT_EQ(config->evaluation().every, 0);
  EXPECT_EQ(Complaint("[evaluation]\nevery = 5\n"),
            "c.toml:2: evaluation.every: got 5 (an integer), expected a number from 0 to 1; write "
            "for example every = 0.05");
}

TEST(Config, ACheckpointIsDueBySecondsOrSteps) {
  const auto usual = Config::Load({"defaults", "serve", ""}, {});
  EXPECT_DOUBLE_EQ(usual->checkpoint().every_s, 60);
  EXPECT_EQ(usual->checkpoint().every_steps, 0u);
  EXPECT_EQ(usual->checkpoint().retention.keep, 3);
  EXPECT_EQ(usual->checkpoint().retention.keep_every, 0u);
  const auto told = Config::Load(
      {"c.toml", "c", "[checkpoint]\nevery_s = 0\nevery_steps = 5\nkeep = 1\nkeep_every = 7\n"},
      {});
  ASSERT_TRUE(told.ok()) << told.status();
  EXPECT_DOUBLE_EQ(told->checkpoint().every_s, 0);
  EXPECT_EQ(told->checkpoint().every_steps, 5u);
  EXPECT_EQ(told->checkpoint().retention.keep, 1);
  EXPECT_EQ(told->checkpoint().retention.keep_every, 7u);
  EXPECT_EQ(Complaint("[checkpoint]\nkeep = 0\n"),
            "c.toml:2: checkpoint.keep: got 0 (an integer), expected an integer from 1 to 1048576; "
            "write for example keep = 3");
}

TEST(ConfigError, UnknownKeyNamesTheNearest) {
  EXPECT_EQ(Complaint("[algorithm]\nepoch = 4\n"),
            "c.toml:2: unknown key \"epoch\" in [algorithm]; did you mean \"epochs\"?");
}

TEST(ConfigError, AKeyOfAnotherLibraryNamesOurs) {
  const std::pair<const char*, const char*> names[] = {
      {"batch_size", "minibatch"}, {"n_steps", "trajectory_length"}, {"n_epochs", "epochs"},
      {"gae_lambda", "lambda"},    {"clip_range", "clip"},           {"ent_coef", "entropy"},
      {"vf_coef", "value_weight"}};
  for (const auto& [theirs, ours] : names) {
    EXPECT_EQ(Complaint("[algorithm]\n" + std::string(theirs) + " = 4\n"),
              "c.toml:2: unknown key \"" + std::string(theirs) +
                  "\" in [algorithm]; did you mean \"" + ours + "\"? (Stable-Baselines3 calls it " +
                  theirs + ")");
  }
  EXPECT_EQ(Complaint("[algorithm]\nlr = 1e-3\n"),
            "c.toml:2: unknown key \"lr\" in [algorithm]; did you mean \"learning_rate\" in "
            "[optimizer]? (RLlib calls it lr)");
  EXPECT_EQ(Complaint("", {{"n_epochs", "4"}}),
            "--set n_epochs=4: got the key \"n_epochs\", expected section.key=value; write for "
            "example --set algorithm.epochs=4");
}

TEST(ConfigError, EveryKeyThatAnotherNameStandsForExists) {
  for (const char* name : {"n_steps", "batch_size", "total_timesteps", "n_envs", "net_arch",
                           "activation_fn", "n_stack", "norm_obs", "norm_reward", "clip_reward",
                           "env_id", "lr", "train_batch_size", "grad_clip", "fcnet_hiddens"}) {
    const ConfigAlias* alias = FindAlias(name);
    ASSERT_NE(alias, nullptr) << name;
    const std::string path = alias->path;
    const std::size_t dot = path.find('.');
    EXPECT_NE(Schema().Find(path.substr(0, dot), path.substr(dot + 1)), nullptr) << path;
  }
}

TEST(ConfigError, UnknownSectionNamesTheNearest) {
  EXPECT_EQ(Complaint("[modle]\nlayers = [3]\n"),
            "c.toml:1: unknown section [modle]; did you mean \"model\"?");
  EXPECT_EQ(
      Complaint("seed = 3\n"),
      "c.toml:1: unknown key \"seed\" outside a section; expected one of run, environment, server, "
      "model, algorithm, optimizer, replay, parameters, cluster, checkpoint, evaluation, "
      "metrics, page, data, record, log, settings, stream, hook");
}

TEST(ConfigError, UnknownModelSectionNamesTheTwo) {
  EXPECT_EQ(Complaint("[model.npc.algoritm]\nepochs = 4\n"),
            "c.toml:1: unknown section [model.npc.algoritm]; did you mean \"algorithm\"?");
}

TEST(ConfigError, WrongTypeSaysGotAndExpected) {
  EXPECT_EQ(Complaint("[algorithm]\nepochs = \"ten\"\n"),
            "c.toml:2: algorithm.epochs: got \"ten\" (a string), expected an integer from 1 to "
            "1000; write "
            "for example epochs = 10");
  EXPECT_EQ(Complaint("[algorithm]\nepochs = 4.5\n"),
            "c.toml:2: algorithm.epochs: got 4.5 (a number), expected an integer from 1 to 1000; "
            "write for "
            "example epochs = 10");
  EXPECT_EQ(
      Complaint("[model]\nlayers = 64\n"),
      "c.toml:2: model.layers: got 64 (an integer), expected a list of at most 64 units (1 to "
      "65536) and layers such as \"conv 32 8 4\"; write for example layers = [64, 64]");
}

TEST(ConfigError, OutOfRangeSaysTheRange) {
  EXPECT_EQ(Complaint("[algorithm]\ngamma = 1.5\n"),
            "c.toml:2: algorithm.gamma: got 1.5 (a number), expected a number from 0 to 1; write "
            "for example "
            "gamma = 0.99");
  for (const char* threads : {"0", "65"}) {
    EXPECT_EQ(Complaint("[model]\nthreads = " + std::string(threads) + "\n"),
              "c.toml:2: model.threads: got " + std::string(threads) +
                  " (an integer), expected an integer from 1 to 64; write for example threads = 4");
  }
  EXPECT_EQ(Complaint("[run]\nsteps = 0\n"),
            "c.toml:2: run.steps: got 0 (an integer), expected an integer of at least 1; write for "
            "example "
            "steps = 100000");
}

TEST(ConfigError, AChoiceListsWhatThereIs) {
  EXPECT_EQ(Complaint("[server]\nshm = \"maybe\"\n"),
            "c.toml:2: server.shm: got \"maybe\" (a string), expected \"auto\" or \"on\" or "
            "\"off\"; write for "
            "example shm = \"auto\"");
}

TEST(ConfigError, NotTomlNamesTheLine) {
  EXPECT_THAT(Complaint("[run]\nseed = \n"), ::testing::StartsWith("c.toml:2: not TOML ("));
  EXPECT_THAT(Complaint("[run]\nseed = 1\nseed = 2\n"),
              ::testing::StartsWith("c.toml:3: not TOML ("));
}

TEST(ConfigError, ListeningBeyondThisHostNeedsASentence) {
  const std::string text = "[server]\nlisten = [\"tcp://0.0.0.0:7420\"]\n";
  EXPECT_EQ(
      Complaint(text),
      "c.toml:2: server.listen: tcp://0.0.0.0:7420 can be reached from other hosts, and "
      "without keys "
      "any program there could train or read the model; listen on 127.0.0.1 or ipc, or accept "
      "that with "
      "--insecure");
  EXPECT_TRUE(Load(text, {{"server.insecure", "true", "--insecure"}}).ok());
}

TEST(ConfigError, ASetIsNamedAsItWasTyped) {
  EXPECT_EQ(
      Complaint("", {{"algorithm.epoch", "4"}}),
      "--set algorithm.epoch=4: unknown key \"epoch\" in [algorithm]; did you mean \"epochs\"?");
  EXPECT_EQ(
      Complaint("", {{"epochs", "4"}}),
      "--set epochs=4: got the key \"epochs\", expected section.key=value; write for example --set "
      "algorithm.epochs=4");
  EXPECT_EQ(
      Complaint("", {{"run.seed", "abc", "--seed"}}),
      "--seed abc: run.seed: got \"abc\" (a string), expected an integer of at least 0; write for "
      "example seed = 1");
}

TEST(ConfigError, MissingFileNamesTheExamples) {
  const auto source = FindConfig("cartpol");
  EXPECT_EQ(source.status().message(),
            "cartpol: no such file or example; did you mean \"cartpole\"? give a TOML file or an "
            "example; `murmurate train --list` names them");
  EXPECT_EQ(FindConfig("/nowhere/x.toml").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FindConfig("/tmp/").status().message(),
            "/tmp/: is a folder, expected a TOML file; name the file in it");
}

TEST(Config, SetBeatsTheFileAndTheFileBeatsTheDefault) {
  const auto config =
      Load("[algorithm]\nepochs = 5\nminibatch = 128\n", {{"algorithm.epochs", "7"}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(ModelFor(*config, "default", kSpaces)->algorithm.epochs, 7);
  std::map<std::string, std::string> origins;
  for (const auto& line : Explain(*config))
    origins[line.path] = line.value + " from " + line.origin;
  EXPECT_EQ(origins["algorithm.epochs"], "7 from --set algorithm.epochs=7");
  EXPECT_EQ(origins["algorithm.minibatch"], "128 from c.toml:3");
  EXPECT_EQ(origins["algorithm.gamma"], "0.99 from default");
}

TEST(Config, ABareStringNeedsNoQuotes) {
  const auto config = Load("", {{"run.name", "my-run"}, {"server.listen", "[\"ipc\"]"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->run().name, "my-run");
  EXPECT_EQ(config->server().listen, std::vector<std::string>{"ipc"});
}

TEST(Config, IntegersPassForNumbersAndTheOtherWayDoesNot) {
  const auto config = Load("[algorithm]\ngamma = 1\n[run]\nstop_at_return = 475\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_DOUBLE_EQ(*config->run().stop_at_return, 475.0);
}

TEST(Config, ActorsAreTheProcessorsLessOneAndAtLeastTwoUnlessWritten) {
  const auto unset = Load("");
  ASSERT_TRUE(unset.ok()) << unset.status();
  EXPECT_EQ(unset->run().actors,
            std::max(2, static_cast<int>(std::thread::hardware_concurrency()) - 1));
  const auto written = Load("[run]\nactors = 1\n");
  ASSERT_TRUE(written.ok()) << written.status();
  EXPECT_EQ(written->run().actors, 1);
}

TEST(Config, AnyGamesRewardsHaveAScale) {
  const auto config = Load(
      "[run]\nenvironment = \"cartpole\"\n[environment]\nreward_scale = 1000\n"
      "[model]\nlayers = [8]\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->environment_options().reward_scale, 1000);
  EXPECT_EQ(Load("[run]\nenvironment = \"pendulum\"\n[environment]\naction_low = -0.01\n")
                ->environment_options()
                .action_low,
            -0.01);
}

TEST(Config, OptionsOfTheEnvironmentAreItsOwn) {
  const std::string recall = "[run]\nenvironment = \"recall\"\n[environment]\n";
  const auto config = Load(recall + "distractors = 40\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->environment_options().distractors, 40);
  EXPECT_EQ(Load(recall)->environment_options().distractors, 8);
  EXPECT_EQ(Config::Load({"r", "r", ResolvedToml(*config)}, {})->environment_options().distractors,
            40);
  EXPECT_EQ(Complaint(recall + "distractors = -1\n"),
            "c.toml:4: environment.distractors: got -1 (an integer), expected an integer from 0 to "
            "100000; write for example distractors = 8");
  EXPECT_EQ(Complaint(recall + "distractor = 4\n"),
            "c.toml:4: unknown key \"distractor\" in [environment]; did you mean \"distractors\"?");
  EXPECT_EQ(Complaint("[run]\nenvironment = \"catch\"\n[environment]\ndistractors = 4\n"),
            "c.toml:4: environment.distractors: only the environment \"recall\" has it, and "
            "run.environment is \"catch\"; take the line out, or set run.environment");
  EXPECT_EQ(Complaint("", {{"environment.game", "3"}}),
            "--set environment.game=3: environment.game: only the environment \"bandit\" has it, "
            "and run.environment is not set; take the line out, or set run.environment");
}

TEST(Config, ResolvedLoadsToTheSame) {
  const auto config = Load(
      "[run]\nsteps = 5000\nstop_at_return = 1e9\nname = \"x\"\n[server]\nlisten = [\"ipc\"]\n"
      "[model.npc]\nlayers = []\n[model.npc.algorithm]\nclip = {from = 0.2, to = 0.1, shape = "
      "\"cosine\"}\n"
      "[optimizer]\nlearning_rate = {from = 1e-3, to = 1e-5, steps = 70, shape = "
      "\"exponential\"}\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const auto again = Config::Load({"resolved", "other", ResolvedToml(*config)}, {});
  ASSERT_TRUE(again.ok()) << again.status() << ResolvedToml(*config);
  EXPECT_EQ(ResolvedToml(*again), ResolvedToml(*config));
  std::vector<std::string> first, second;
  for (const auto& line : Explain(*config)) first.push_back(line.path + " = " + line.value);
  for (const auto& line : Explain(*again)) second.push_back(line.path + " = " + line.value);
  EXPECT_EQ(first, second);
}

TEST(Config, EveryExampleLoads) {
  ASSERT_FALSE(Examples().empty());
  for (const Example& example : Examples())
    EXPECT_TRUE(Config::Load({example.name, example.name, example.text}, {}).ok()) << example.name;
}

TEST(ConfigError, HostileTextIsOneSentence) {
  for (const std::string& text :
       {std::string("\0\0\0", 3), std::string("[[[[["), std::string("x = 1\xff\n"),
        std::string(100000, '['), std::string("\xef\xbb\xbf[run]\r\nsed = 1\r\n"),
        std::string("[run]\nseed = 99999999999999999999\n"), std::string("[run.seed]\nx = 1\n"),
        std::string("[[run]]\nseed = 1\n"), std::string("run = 7\n"),
        std::string("[run]\nseed = 1979-05-27\n"), std::string("[run]\nseed = {}\n")}) {
    const std::string complaint = Complaint(text);
    EXPECT_EQ(complaint.find('\n'), std::string::npos) << complaint;
    EXPECT_THAT(complaint, ::testing::StartsWith("c.toml:"));
  }
}

TEST(Config, SeveralWorkersEachHaveAPartOfTheFiles) {
  const auto part = [](const std::string& parameters, const std::string& data = "") {
    const auto config = Load("[parameters]\nshards = [\"ipc:///tmp/s\"]\n" + parameters +
                             "[algorithm]\nname = \"supervised\"\n[data]\nobservations = "
                             "\"x.npy\"\nlabels = \"y.npy\"\n" +
                             data);
    EXPECT_TRUE(config.ok()) << config.status().message();
    return config.ok() ? config->data().part : FeedPart{99, 99, false};
  };
  EXPECT_EQ(part("workers = 4\nworker = 1\n"), (FeedPart{0, 1, false})) << "mode is local";
  const std::string server = "mode = \"server\"\n";
  EXPECT_EQ(part(server + "worker = 1\n"), (FeedPart{0, 1, false}));
  EXPECT_EQ(part(server + "workers = 4\nworker = 3\n"), (FeedPart{3, 4, true}));
  EXPECT_EQ(part(server + "workers = 4\nworker = 6\n"), (FeedPart{2, 4, true}));
  EXPECT_EQ(part(server + "workers = 4\nworker = 3\n", "divide = false\n"), (FeedPart{0, 1, true}));
}

TEST(Config, ARankHasAPartOfTheFilesAndEndsAsRankZeroSays) {
  const auto rank = [](int number, int size, const std::string& data = "") {
    auto config = Load(
        "[run]\nsteps = 1000\n[algorithm]\nname = \"supervised\"\n[parameters]\ncollective = "
        "\"mpi\"\n[data]\nobservations = \"x.npy\"\nlabels = \"y.npy\"\npasses = 7\n" +
        data);
    EXPECT_TRUE(config.ok()) << config.status().message();
    config->ShareWork(number, size, "runs/r");
    return *std::move(config);
  };
  EXPECT_EQ(rank(0, 1).data().part, (FeedPart{0, 1, false}));
  EXPECT_EQ(rank(0, 1).run().most_steps(), 1000u);
  const Config first = rank(0, 3), last = rank(2, 3);
  EXPECT_EQ(first.data().part, (FeedPart{0, 3, true}));
  EXPECT_EQ(last.data().part, (FeedPart{2, 3, true}));
  EXPECT_EQ(rank(2, 3, "divide = false\n").data().part, (FeedPart{0, 1, true}));
  EXPECT_EQ(first.data().passes, 7);
  EXPECT_EQ(first.run().most_steps(), 334u);
  EXPECT_GT(last.data().passes, 1 << 30);  // more than a config can ask for
  EXPECT_EQ(last.run().most_steps(), UINT64_MAX);
  EXPECT_EQ(*last.run().steps, 334u);  // of schedules
}

}  // namespace
}  // namespace murmurate
