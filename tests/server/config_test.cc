#include "server/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/examples.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

Result<Config> Load(const std::string& text, std::vector<ConfigOverride> overrides = {}) {
  return Config::Load({"c.toml", "c", text}, overrides);
}

std::string Complaint(const std::string& text, std::vector<ConfigOverride> overrides = {}) {
  const auto config = Load(text, std::move(overrides));
  if (config.ok()) return "(it was accepted)";
  EXPECT_EQ(config.status().code(), StatusCode::kInvalidArgument);
  return config.status().message();
}

const Spaces kSpaces{Box({4}), Discrete(2)};

TEST(Config, BareDefaultsAreThoseOfTheDesign) {
  const auto config = Config::Load({"defaults", "serve", ""}, {});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->run().name, "serve");
  EXPECT_EQ(config->server().listen, (std::vector<std::string>{"tcp://127.0.0.1:7420", "ipc"}));
  const ModelSettings model = *config->ModelFor("default", kSpaces);
  EXPECT_EQ(model.spec.trunk, (std::vector<Layer>(2, {64, Activation::kTanh})));
  EXPECT_TRUE(model.spec.separate_value);
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
  EXPECT_EQ(curriculum.number, Curriculum::Number::kSuccessRate);
  EXPECT_TRUE(curriculum.at_least);
  EXPECT_EQ(curriculum.bound, 0.8);
  EXPECT_EQ(curriculum.episodes, 50);
  EXPECT_EQ(std::get<double>(settings[1].rule), 9);
  EXPECT_EQ(std::get<Schedule>(settings[2].rule).At(50), 1.5);
  const auto again = Load(config->Resolved());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Resolved(), config->Resolved());
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

TEST(ConfigError, UnknownSectionNamesTheNearest) {
  EXPECT_EQ(Complaint("[modle]\nlayers = [3]\n"),
            "c.toml:1: unknown section [modle]; did you mean \"model\"?");
  EXPECT_EQ(
      Complaint("seed = 3\n"),
      "c.toml:1: unknown key \"seed\" outside a section; expected one of run, environment, server, "
      "model, algorithm, optimizer, checkpoint, evaluation, "
      "data, record, settings");
}

TEST(ConfigError, MoreThreadsThanTrajectoriesToShareAreRefused) {
  // 256 / 128 = 2 trajectories.
  EXPECT_EQ(Complaint("[model]\nrecurrent = \"gru 8\"\nthreads = 3\n"),
            "c.toml:3: model.threads: got 3, expected at most 2, because the model recurs and a "
            "minibatch of 256 steps has that many trajectories of 128; write threads = 2, or "
            "minibatch = 384");
  EXPECT_TRUE(Load("[model]\nrecurrent = \"gru 8\"\nthreads = 2\n").ok());
  EXPECT_TRUE(Load("[model]\nthreads = 3\n").ok()) << "rows that are independent";
}

TEST(ConfigError, AQuorumNeedsAPolicyThatWaits) {
  const auto a2c = Load("[algorithm]\nname = \"a2c\"\nquorum = 0.75\n");
  ASSERT_TRUE(a2c.ok()) << a2c.status();
  EXPECT_DOUBLE_EQ(a2c->ModelFor("default", kSpaces)->quorum, 0.75);
  EXPECT_EQ(Complaint("[algorithm]\nquorum = 0.75\n"),
            "c.toml:2: algorithm.quorum: got 0.75, expected 1, because only staleness = \"block\" "
            "waits for all live agents; take the line out, or write staleness = \"block\"");
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

TEST(ConfigError, BatchIsAMultipleOfTheTrajectory) {
  EXPECT_EQ(Complaint("[algorithm]\nbatch_steps = 1000\n"),
            "c.toml:2: algorithm.batch_steps: got 1000, expected a multiple of trajectory_length "
            "(128); write "
            "for example batch_steps = 1024");
  EXPECT_EQ(Complaint("[model.npc.algorithm]\ntrajectory_length = 100\n"),
            "c.toml:2: model.npc.algorithm.batch_steps: got 2048, expected a multiple of "
            "trajectory_length "
            "(100); write for example batch_steps = 2100");
}

TEST(ConfigError, BurningInLeavesStepsToLearnFrom) {
  EXPECT_EQ(Complaint("[algorithm]\nburn_in = 128\n"),
            "c.toml:2: algorithm.burn_in: got 128, expected less than trajectory_length (128), or "
            "no step is learned from; write for example burn_in = 32");
  EXPECT_EQ(Complaint("[model.npc]\nlayers = [\"lstm 8\"]\n[model.npc.algorithm]\nburn_in = 8\n"
                      "trajectory_length = 8\n"),
            "c.toml:4: model.npc.algorithm.burn_in: got 8, expected less than trajectory_length "
            "(8), or no step is learned from; write for example burn_in = 2");
}

TEST(ConfigError, BurningInNeedsAStateToWarm) {
  EXPECT_EQ(Complaint("[algorithm]\nburn_in = 8\n"),
            "c.toml:2: algorithm.burn_in: got 8, expected 0, because the model does not recur and "
            "has no state to warm; write recurrent = \"lstm 128\" in its section, or burn_in only "
            "in [model.NAME.algorithm] of a model that recurs");
  EXPECT_THAT(Complaint("[model]\nrecurrent = \"gru 8\"\nlayers = [8]\n[model.npc]\n"
                        "[algorithm]\nburn_in = 8\n"),
              "(it was accepted)");
  EXPECT_TRUE(Load("[model]\nlayers = [16, \"lstm 8\"]\n[algorithm]\nburn_in = 8\n").ok());
  EXPECT_TRUE(
      Load("[model.npc]\nrecurrent = \"gru 8\"\n[model.npc.algorithm]\nburn_in = 8\n").ok());
}

TEST(ConfigError, WhatRecursIsALayerWithAStateThatTheCriticShares) {
  EXPECT_EQ(Complaint("[model]\nrecurrent = \"dense 4\"\n"),
            "c.toml:2: model.recurrent: got \"dense 4\", expected \"lstm UNITS\" or \"gru UNITS\"; "
            "write for example recurrent = \"lstm 128\"");
  EXPECT_THAT(Complaint("[model.npc]\nrecurrent = \"lstn 4\"\n"),
              ::testing::StartsWith("c.toml:2: model.npc.recurrent: got \"lstn 4\", expected "));
  EXPECT_EQ(
      Complaint("[model]\nlayers = [\"gru 4\"]\nseparate_value = true\n"),
      "c.toml:3: model.separate_value: got true, expected false, because the model recurs and "
      "nobody holds a critic's state; take the line out");
  EXPECT_TRUE(Load("[model]\nrecurrent = \"gru 4\"\nseparate_value = false\n").ok());
}

TEST(ConfigError, MinibatchFitsTheBatch) {
  EXPECT_EQ(Complaint("[algorithm]\nminibatch = 4096\n"),
            "c.toml:2: algorithm.minibatch: got 4096, expected at most batch_steps (2048); write "
            "for example "
            "minibatch = 2048");
}

TEST(ConfigError, AScheduleWithoutAHorizonIsRefused) {
  EXPECT_EQ(Complaint("[optimizer]\nlearning_rate = {from = 1e-3, to = 0.0001}\n"),
            "c.toml:2: optimizer.learning_rate: a schedule without a horizon; write steps = N in "
            "it, or set "
            "run.steps");
  EXPECT_THAT(Complaint("[optimizer]\nlearning_rate = {from = 1e-3, two = 0}\n"),
              ::testing::HasSubstr(
                  "expected a number above 0 and at most 100 or {from, to, steps, shape}"));
}

TEST(ConfigError, ListeningBeyondThisHostNeedsASentence) {
  const std::string text = "[server]\nlisten = [\"tcp://0.0.0.0:7420\"]\n";
  EXPECT_EQ(Complaint(text),
            "c.toml:2: server.listen: tcp://0.0.0.0:7420 can be reached from other hosts, and "
            "without keys "
            "anybody there could train or read the model; listen on 127.0.0.1 or ipc, or accept "
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
  EXPECT_EQ(
      source.status().message(),
      "cartpol: no such file or example; did you mean \"cartpole\"? give a TOML file or one of the "
      "examples: cartpole, cartpole-a2c, cartpole-impala, catch, catch-impala, clone, gridworld, "
      "pendulum, recall, recall-long, regression");
  EXPECT_EQ(FindConfig("/nowhere/x.toml").status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(FindConfig("/tmp/").status().message(),
            "/tmp/: is a folder, expected a TOML file; name the file in it");
}

TEST(Config, SetBeatsTheFileAndTheFileBeatsTheDefault) {
  const auto config =
      Load("[algorithm]\nepochs = 5\nminibatch = 128\n", {{"algorithm.epochs", "7"}});
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->ModelFor("default", kSpaces)->algorithm.epochs, 7);
  std::map<std::string, std::string> origins;
  for (const auto& line : config->Explain())
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

TEST(Config, AScheduleWithoutStepsTakesTheBudget) {
  const auto config =
      Load("[run]\nsteps = 1000\n[optimizer]\nlearning_rate = {from = 2, to = 1}\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const Schedule rate = config->ModelFor("default", kSpaces)->algorithm.learning_rate;
  EXPECT_EQ(rate.steps, 1000u);
  EXPECT_DOUBLE_EQ(rate.At(500), 1.5);
}

TEST(Config, AModelOverridesWhatItNames) {
  const auto config = Load(
      "[model]\nlayers = [32]\nactivation = \"relu\"\n[model.npc]\nlayers = [16, 16]\nthreads = 2\n"
      "[model.npc.algorithm]\nepochs = 3\n[model.npc.optimizer]\nlearning_rate = 0.01\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelSettings npc = *config->ModelFor("npc", kSpaces),
                      other = *config->ModelFor("hero", kSpaces);
  EXPECT_EQ(npc.spec.trunk, (std::vector<Layer>(2, {16, Activation::kRelu})));
  EXPECT_EQ(other.spec.trunk, (std::vector<Layer>(1, {32, Activation::kRelu})));
  EXPECT_EQ(npc.algorithm.epochs, 3);
  EXPECT_EQ(npc.algorithm.threads, 2);
  EXPECT_EQ(other.algorithm.epochs, 10);
  EXPECT_DOUBLE_EQ(npc.algorithm.learning_rate.At(0), 0.01);
}

TEST(Config, AKeyThatIsNotSetTakesTheAlgorithmsDefault) {
  const auto config = Load("[algorithm]\nname = \"impala\"\nbatch_steps = 1024\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const AlgorithmSettings impala = config->ModelFor("default", kSpaces)->algorithm;
  EXPECT_EQ(impala.name, AlgorithmName::kImpala);
  EXPECT_EQ(impala.trajectory_length, 64);
  EXPECT_EQ(impala.minibatch, 1024);
  EXPECT_EQ(impala.epochs, 1);
  EXPECT_FALSE(impala.normalize_advantage);
  EXPECT_EQ(impala.staleness, StalenessPolicy::kVtrace);
  std::map<std::string, std::string> origins;
  for (const auto& line : config->Explain())
    origins[line.path] = line.value + " from " + line.origin;
  EXPECT_EQ(origins["algorithm.epochs"], "1 from default of impala");
  EXPECT_EQ(origins["algorithm.minibatch"], "1024 from default of impala");
  EXPECT_EQ(origins["algorithm.gamma"], "0.99 from default");
  const AlgorithmSettings a2c =
      Load("[algorithm]\nname = \"a2c\"\n")->ModelFor("default", kSpaces)->algorithm;
  EXPECT_EQ(a2c.name, AlgorithmName::kA2c);
  EXPECT_EQ(a2c.staleness, StalenessPolicy::kBlock);
  EXPECT_EQ(a2c.max_staleness, 0);
}

TEST(Config, AModelsOwnAlgorithmBringsItsOwnDefaults) {
  const std::string text =
      "[algorithm]\nname = \"impala\"\ngamma = 0.9\n"
      "[model.npc.algorithm]\nname = \"ppo\"\n"
      "[model.cat.algorithm]\nbatch_steps = 256\n"
      "[model.dog.algorithm]\nname = \"a2c\"\n";
  const auto config = Load(text);
  ASSERT_TRUE(config.ok()) << config.status();
  const auto resolved = Load(config->Resolved());
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  for (const Config* one : {&*config, &*resolved}) {
    const AlgorithmSettings npc = one->ModelFor("npc", kSpaces)->algorithm;
    EXPECT_EQ(npc.name, AlgorithmName::kPpo);
    EXPECT_EQ(npc.epochs, 10);
    EXPECT_EQ(npc.minibatch, 256);
    EXPECT_EQ(npc.batch_steps, 2048);
    EXPECT_DOUBLE_EQ(npc.clip.from, 0.2);
    EXPECT_TRUE(npc.normalize_advantage);
    EXPECT_DOUBLE_EQ(npc.gamma, 0.9);
    const AlgorithmSettings cat = one->ModelFor("cat", kSpaces)->algorithm;
    EXPECT_EQ(cat.name, AlgorithmName::kImpala);
    EXPECT_EQ(cat.minibatch, 256);
    const AlgorithmSettings dog = one->ModelFor("dog", kSpaces)->algorithm;
    EXPECT_EQ(dog.name, AlgorithmName::kA2c);
    EXPECT_EQ(dog.trajectory_length, 16);
    EXPECT_EQ(dog.minibatch, dog.batch_steps);
  }
  EXPECT_EQ(resolved->Resolved(), config->Resolved());
}

TEST(Config, TheOptimizerIsChosenByName) {
  const AlgorithmSettings usual = Load("")->ModelFor("default", kSpaces)->algorithm;
  EXPECT_EQ(usual.optimizer, OptimizerSettings::Name::kAdam);
  const AlgorithmSettings other =
      Load("[optimizer]\nname = \"rmsprop\"\ndecay = 0.9\nepsilon = 0.01\n")
          ->ModelFor("default", kSpaces)
          ->algorithm;
  EXPECT_EQ(other.optimizer, OptimizerSettings::Name::kRmsProp);
  EXPECT_DOUBLE_EQ(other.optimizer_decay, 0.9);
  EXPECT_DOUBLE_EQ(other.optimizer_epsilon, 0.01);
}

TEST(Config, WhatAnAlgorithmCannotUseIsRefused) {
  EXPECT_EQ(Complaint("[algorithm]\nname = \"a2c\"\nepochs = 4\n"),
            "c.toml:3: algorithm.epochs: got 4, expected 1, because a2c's gradient is right for "
            "one pass only; take the line out, or write name = \"ppo\"");
  EXPECT_EQ(Complaint("[algorithm]\nname = \"impala\"\nclip = 0.1\n"),
            "c.toml:3: algorithm.clip: got 0.1, expected no such line, because impala clips no "
            "ratio; take it out, or write name = \"ppo\"");
  EXPECT_EQ(Complaint("[algorithm]\ntarget_kl = 0.02\n", {{"algorithm.name", "a2c"}}),
            "c.toml:2: algorithm.target_kl: got 0.02, expected no such line, because only ppo ends "
            "its epochs early; take it out, or write name = \"ppo\"");
  EXPECT_EQ(Complaint("[algorithm]\nstaleness = \"block\"\nmax_staleness = 2\n"),
            "c.toml:3: algorithm.max_staleness: got 2, expected 0, because staleness = \"block\" "
            "is experience of the current version only; take the line out, or write staleness = "
            "\"drop\"");
  EXPECT_EQ(Complaint("[model.npc.algorithm]\nname = \"a2c\"\nstaleness = \"vtrace\"\n"),
            "c.toml:3: model.npc.algorithm.staleness: got \"vtrace\", expected \"block\" or "
            "\"drop\", because a2c has no importance weights; take the line out, or write name = "
            "\"impala\"");
  EXPECT_EQ(Complaint("[algorithm]\nname = \"pop\"\n"),
            "c.toml:2: algorithm.name: got \"pop\" (a string), expected \"ppo\" or \"impala\" or "
            "\"a2c\" or \"supervised\" or \"bc\"; write for example name = \"impala\"");
  EXPECT_TRUE(Load("[algorithm]\nstaleness = \"block\"\n").ok());
  EXPECT_TRUE(Load("[algorithm]\nclip = 0.1\n[model.npc.algorithm]\nname = \"a2c\"\n").ok());
}

TEST(Config, NormalizedRewardsAreCutAtTenUnlessItIsSaid) {
  const auto algorithm = [](const std::string& lines) {
    return Load("[algorithm]\n" + lines)->ModelFor("default", kSpaces)->algorithm;
  };
  EXPECT_EQ(algorithm("").reward_scale, 1.0);
  EXPECT_EQ(algorithm("").reward_clip, 0.0);
  EXPECT_FALSE(algorithm("").normalize_reward);
  EXPECT_EQ(algorithm("normalize_reward = true").reward_clip, 10.0);
  EXPECT_EQ(algorithm("normalize_reward = true\nreward_clip = 0").reward_clip, 0.0);
  EXPECT_EQ(algorithm("reward_clip = 1").reward_clip, 1.0);
  EXPECT_EQ(algorithm("reward_scale = 0.5").reward_scale, 0.5);
  EXPECT_EQ(
      Complaint("[algorithm]\nreward_scale = 0\n"),
      "c.toml:2: algorithm.reward_scale: got 0 (an integer), expected a number above 0 and at "
      "most 1000000000000; write for example reward_scale = 0.1");
  EXPECT_EQ(Complaint("[algorithm]\nreward_clip = -1.0\n"),
            "c.toml:2: algorithm.reward_clip: got -1.0 (a number), expected a number from 0 to "
            "1000000000000; write for example reward_clip = 10");
}

TEST(Config, AScaleThatNormalizingWouldCancelIsRefused) {
  EXPECT_EQ(Complaint("[algorithm]\nnormalize_reward = true\nreward_scale = 0.5\n"),
            "c.toml:3: algorithm.reward_scale: got 0.5, expected 1, because normalize_reward "
            "divides by the deviation of the scaled rewards and leaves nothing of it; take one of "
            "the two out");
  EXPECT_TRUE(Load("[algorithm]\nnormalize_reward = true\nreward_scale = 1\n").ok());
}

TEST(Config, AnInitializerIsOneOfThree) {
  const auto initializer = [](const std::string& line) {
    return Load("[model]\n" + line)->ModelFor("default", kSpaces)->beginning.weights;
  };
  EXPECT_EQ(initializer(""), Initializer::kOrthogonal);
  EXPECT_EQ(initializer("initializer = \"orthogonal\""), Initializer::kOrthogonal);
  EXPECT_EQ(initializer("initializer = \"xavier\""), Initializer::kXavier);
  EXPECT_EQ(initializer("initializer = \"he\""), Initializer::kHe);
  EXPECT_EQ(Complaint("[model]\ninitializer = \"zeros\"\n"),
            "c.toml:2: model.initializer: got \"zeros\" (a string), expected \"orthogonal\" or "
            "\"xavier\" or \"he\"; write for example initializer = \"orthogonal\"");
}

TEST(Config, OnlyARecurrentModelHasAStateToKeep) {
  const auto config = Load("[model]\nrecurrent = \"gru 32\"\nkeep_bias = 2.5\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ModelFor("default", kSpaces)->beginning.keep_bias, 2.5f);
  EXPECT_FALSE(Load("")->ModelFor("default", kSpaces)->beginning.keep_bias);
  EXPECT_EQ(Complaint("[model]\nkeep_bias = 2.5\n"),
            "c.toml:2: model.keep_bias: the model does not recur and has no state to keep; take "
            "the line out, or write recurrent = \"gru 32\"");
}

TEST(Config, OptionsOfTheEnvironmentAreItsOwn) {
  const std::string recall = "[run]\nenvironment = \"recall\"\n[environment]\n";
  const auto config = Load(recall + "distractors = 40\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->run().environment_options.distractors, 40);
  EXPECT_EQ(Load(recall)->run().environment_options.distractors, 8);
  EXPECT_EQ(Config::Load({"r", "r", config->Resolved()}, {})->run().environment_options.distractors,
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
  const auto again = Config::Load({"resolved", "other", config->Resolved()}, {});
  ASSERT_TRUE(again.ok()) << again.status() << config->Resolved();
  EXPECT_EQ(again->Resolved(), config->Resolved());
  std::vector<std::string> first, second;
  for (const auto& line : config->Explain()) first.push_back(line.path + " = " + line.value);
  for (const auto& line : again->Explain()) second.push_back(line.path + " = " + line.value);
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

}  // namespace
}  // namespace murmurate
