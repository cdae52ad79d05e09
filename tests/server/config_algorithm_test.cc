// What a config says of models and how they learn.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/learn/algorithms.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

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
  EXPECT_DOUBLE_EQ(ModelFor(*a2c, "default", kSpaces)->quorum, 0.75);
  EXPECT_EQ(Complaint("[algorithm]\nquorum = 0.75\n"),
            "c.toml:2: algorithm.quorum: got 0.75, expected 1, because only staleness = \"block\" "
            "waits for all live agents; take the line out, or write staleness = \"block\"");
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
      "no player carries the value's state; take the line out");
  EXPECT_TRUE(Load("[model]\nrecurrent = \"gru 4\"\nseparate_value = false\n").ok());
}

TEST(ConfigError, MinibatchFitsTheBatch) {
  EXPECT_EQ(Complaint("[algorithm]\nminibatch = 4096\n"),
            "c.toml:2: algorithm.minibatch: got 4096, expected at most batch_steps (2048); write "
            "for example "
            "minibatch = 2048");
}

TEST(ConfigError, ADualClipIsAboveOneOrOff) {
  EXPECT_EQ(Complaint("[algorithm]\ndual_clip = 0.5\n"),
            "c.toml:2: algorithm.dual_clip: got 0.5, expected 0 or a number above 1, because it "
            "bounds steps that became more likely; write for example dual_clip = 3");
  EXPECT_TRUE(Load("[algorithm]\ndual_clip = 0\n").ok());
  const auto config = Load("[algorithm]\ndual_clip = 3\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ModelFor(*config, "default", kSpaces)->algorithm.dual_clip, 3.0);
}

TEST(ConfigAlgorithm, ABatchEndsEarlyFiveTimesAsFarAsTheRateFollows) {
  const auto ends = [](const std::string& text) {
    const auto config = Load(text);
    EXPECT_TRUE(config.ok()) << config.status();
    return ModelFor(*config, "default", kSpaces)->algorithm.target_kl;
  };
  EXPECT_EQ(ends(""), 0.05);
  EXPECT_EQ(ends("[algorithm]\nadaptive_kl = 0.02\n"), 0.1);
  EXPECT_EQ(ends("[algorithm]\nadaptive_kl = 900\n"), 1000.0);
  EXPECT_EQ(ends("[algorithm]\ntarget_kl = 0\n"), 0.0) << "as it was set";
  EXPECT_EQ(ends("[optimizer]\nlearning_rate = 1e-3\n"), 0.0);
  EXPECT_EQ(ends("[algorithm]\nname = \"impala\"\n"), 0.0);
  const auto two = Load("[model.npc.algorithm]\nname = \"impala\"\n");
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(ModelFor(*two, "npc", kSpaces)->algorithm.target_kl, 0.0);
}

TEST(ConfigAlgorithm, TheRateFollowsTheDistanceWhereNoRateIsSet) {
  const auto wanted = [](const std::string& text, const std::string& model = "default") {
    const auto config = Load(text);
    EXPECT_TRUE(config.ok()) << config.status();
    return ModelFor(*config, model, kSpaces)->algorithm.adaptive_kl;
  };
  EXPECT_EQ(wanted(""), 0.01);
  EXPECT_EQ(wanted("[optimizer]\nlearning_rate = 1e-3\n"), 0.0);
  EXPECT_EQ(wanted("[optimizer]\nlearning_rate = 3e-4\n"), 0.0) << "also the usual one";
  EXPECT_EQ(wanted("[algorithm]\nadaptive_kl = 0\n"), 0.0);
  EXPECT_EQ(wanted("[algorithm]\nadaptive_kl = 0.02\n[optimizer]\nlearning_rate = 1e-3\n"), 0.02);
  EXPECT_EQ(wanted("[algorithm]\nname = \"impala\"\n"), 0.0);
  EXPECT_EQ(wanted("[algorithm]\nname = \"supervised\"\n"), 0.0);
  const std::string two = "[model.npc.optimizer]\nlearning_rate = 1e-3\n";
  EXPECT_EQ(wanted(two), 0.01);
  EXPECT_EQ(wanted(two, "npc"), 0.0);
  EXPECT_THAT(Complaint("[algorithm]\nname = \"a2c\"\nadaptive_kl = 0.01\n"),
              ::testing::HasSubstr("a2c makes one pass over a batch and follows no distance"));
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

TEST(Config, AScheduleWithoutStepsTakesTheBudget) {
  const auto config =
      Load("[run]\nsteps = 1000\n[optimizer]\nlearning_rate = {from = 2, to = 1}\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const Schedule rate = ModelFor(*config, "default", kSpaces)->algorithm.learning_rate;
  EXPECT_EQ(rate.steps, 1000u);
  EXPECT_TRUE(rate.over_the_budget);
  EXPECT_DOUBLE_EQ(rate.At(500), 1.5);
}

TEST(Config, AModelOverridesWhatItNames) {
  const auto config = Load(
      "[model]\nlayers = [32]\nactivation = \"relu\"\n[model.npc]\nlayers = [16, 16]\nthreads = 2\n"
      "[model.npc.algorithm]\nepochs = 3\n[model.npc.optimizer]\nlearning_rate = 0.01\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const ModelSettings npc = *ModelFor(*config, "npc", kSpaces),
                      other = *ModelFor(*config, "hero", kSpaces);
  EXPECT_EQ(npc.spec.policy().trunk, (std::vector<Layer>(2, {16, Activation::kRelu})));
  EXPECT_EQ(other.spec.policy().trunk, (std::vector<Layer>(1, {32, Activation::kRelu})));
  EXPECT_EQ(npc.algorithm.epochs, 3);
  EXPECT_EQ(npc.algorithm.threads, 2);
  EXPECT_EQ(other.algorithm.epochs, 10);
  EXPECT_DOUBLE_EQ(npc.algorithm.learning_rate.At(0), 0.01);
}

TEST(Config, AKeyThatIsNotSetTakesTheAlgorithmsDefault) {
  const auto config = Load("[algorithm]\nname = \"impala\"\nbatch_steps = 1024\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const AlgorithmSettings impala = ModelFor(*config, "default", kSpaces)->algorithm;
  EXPECT_EQ(impala.kind, AlgorithmNamed("impala"));
  EXPECT_EQ(impala.trajectory_length, 32);
  EXPECT_EQ(impala.minibatch, 128);
  EXPECT_EQ(impala.epochs, 1);
  EXPECT_EQ(impala.value_rate_factor, 5.0);
  EXPECT_EQ(impala.staleness, StalenessPolicy::kVtrace);
  std::map<std::string, std::string> origins;
  for (const auto& line : Explain(*config))
    origins[line.path] = line.value + " from " + line.origin;
  EXPECT_EQ(origins["algorithm.epochs"], "1 from default of impala");
  EXPECT_EQ(origins["algorithm.minibatch"], "128 from default of impala");
  EXPECT_EQ(origins["algorithm.gamma"], "0.99 from default");
  const AlgorithmSettings a2c =
      ModelFor(*Load("[algorithm]\nname = \"a2c\"\n"), "default", kSpaces)->algorithm;
  EXPECT_EQ(a2c.kind, AlgorithmNamed("a2c"));
  EXPECT_EQ(a2c.staleness, StalenessPolicy::kBlock);
  EXPECT_EQ(a2c.max_staleness, 0);
}

TEST(Config, AModelsOwnAlgorithmBringsItsOwnDefaults) {
  const std::string text =
      "[algorithm]\nname = \"impala\"\ngamma = 0.9\n"
      "[model.npc.algorithm]\nname = \"ppo\"\n"
      "[model.cat.algorithm]\nbatch_steps = 64\n"
      "[model.dog.algorithm]\nname = \"a2c\"\n";
  const auto config = Load(text);
  ASSERT_TRUE(config.ok()) << config.status();
  const auto resolved = Load(ResolvedToml(*config));
  ASSERT_TRUE(resolved.ok()) << resolved.status();
  for (const Config* one : {&*config, &*resolved}) {
    const AlgorithmSettings npc = ModelFor(*one, "npc", kSpaces)->algorithm;
    EXPECT_EQ(npc.kind, AlgorithmNamed("ppo"));
    EXPECT_EQ(npc.epochs, 10);
    EXPECT_EQ(npc.minibatch, 256);
    EXPECT_EQ(npc.batch_steps, 2048);
    EXPECT_DOUBLE_EQ(npc.clip.from, 0.2);
    EXPECT_TRUE(npc.normalize_advantage);
    EXPECT_DOUBLE_EQ(npc.gamma, 0.9);
    const AlgorithmSettings cat = ModelFor(*one, "cat", kSpaces)->algorithm;
    EXPECT_EQ(cat.kind, AlgorithmNamed("impala"));
    EXPECT_EQ(cat.batch_steps, 64);
    EXPECT_EQ(cat.minibatch, 64) << "the whole batch";
    const AlgorithmSettings dog = ModelFor(*one, "dog", kSpaces)->algorithm;
    EXPECT_EQ(dog.kind, AlgorithmNamed("a2c"));
    EXPECT_EQ(dog.trajectory_length, 32);
    EXPECT_EQ(dog.batch_steps, 1024);
    EXPECT_EQ(dog.minibatch, 128);
  }
  EXPECT_EQ(ResolvedToml(*resolved), ResolvedToml(*config));
}

TEST(Config, TheOptimizerIsChosenByName) {
  const AlgorithmSettings usual = ModelFor(*Load(""), "default", kSpaces)->algorithm;
  EXPECT_EQ(usual.optimizer, OptimizerSettings::Name::kAdam);
  const AlgorithmSettings other =
      ModelFor(*Load("[optimizer]\nname = \"rmsprop\"\ndecay = 0.9\nepsilon = 0.01\n"), "default",
               kSpaces)
          ->algorithm;
  EXPECT_EQ(other.optimizer, OptimizerSettings::Name::kRmsProp);
  EXPECT_DOUBLE_EQ(other.optimizer_decay, 0.9);
  EXPECT_DOUBLE_EQ(other.optimizer_epsilon, 0.01);
}

TEST(Config, WhatAnAlgorithmCannotUseIsRefused) {
  EXPECT_EQ(Complaint("[algorithm]\nname = \"a2c\"\nepochs = 4\n"),
            "c.toml:3: algorithm.epochs: got 4, expected 1, because a2c's gradient is right for "
            "one pass only; take the line out, or write name = \"ppo\"");
  EXPECT_EQ(
      Complaint("[algorithm]\nname = \"impala\"\nadaptive_kl = 0.01\n"),
      "c.toml:3: algorithm.adaptive_kl: got 0.01, expected no such line, because impala makes "
      "one pass over a batch and follows no distance; take it out, or write name = \"ppo\"");
  EXPECT_TRUE(Load("[algorithm]\nname = \"impala\"\nclip = 0.1\ndual_clip = 3\n").ok());
  EXPECT_TRUE(Load("[algorithm]\nname = \"impala\"\ntarget_kl = 0.007\n").ok());
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
            "\"a2c\" or \"dqn\" or \"sac\" or \"td3\" or \"r2d2\" or \"iql\" or \"supervised\" or "
            "\"bc\"; write for example name = \"impala\"");
  EXPECT_TRUE(Load("[algorithm]\nstaleness = \"block\"\n").ok());
  EXPECT_TRUE(Load("[algorithm]\nclip = 0.1\n[model.npc.algorithm]\nname = \"a2c\"\n").ok());
}

TEST(Config, NormalizedRewardsAreCutAtTenUnlessItIsSaid) {
  const auto algorithm = [](const std::string& lines) {
    return ModelFor(*Load("[algorithm]\n" + lines), "default", kSpaces)->algorithm;
  };
  EXPECT_EQ(algorithm("").reward_scale, 1.0);
  EXPECT_TRUE(algorithm("").normalize_reward);
  EXPECT_EQ(algorithm("").reward_clip, 10.0);
  EXPECT_FALSE(algorithm("normalize_reward = false").normalize_reward);
  EXPECT_EQ(algorithm("normalize_reward = false").reward_clip, 0.0);
  EXPECT_EQ(algorithm("normalize_reward = true\nreward_clip = 0").reward_clip, 0.0);
  EXPECT_EQ(algorithm("reward_clip = 1").reward_clip, 1.0);
  EXPECT_EQ(algorithm("reward_scale = 0.5").reward_scale, 0.5);
  EXPECT_FALSE(algorithm("reward_scale = 0.5").normalize_reward) << "the scale would be cancelled";
  EXPECT_FALSE(algorithm("name = \"supervised\"").normalize_reward) << "labels have no rewards";
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

TEST(Config, AnInitializerIsOneOfFour) {
  const auto initializer = [](const std::string& line) {
    return ModelFor(*Load("[model]\n" + line), "default", kSpaces)->beginning.weights;
  };
  EXPECT_EQ(initializer(""), Initializer::kOrthogonal);
  EXPECT_EQ(initializer("initializer = \"orthogonal\""), Initializer::kOrthogonal);
  EXPECT_EQ(initializer("initializer = \"xavier\""), Initializer::kXavier);
  EXPECT_EQ(initializer("initializer = \"he\""), Initializer::kHe);
  EXPECT_EQ(initializer("initializer = \"normal\""), Initializer::kNormal);
  EXPECT_EQ(Complaint("[model]\ninitializer = \"zeros\"\n"),
            "c.toml:2: model.initializer: got \"zeros\" (a string), expected \"orthogonal\" or "
            "\"xavier\" or \"he\" or \"normal\"; write for example initializer = \"orthogonal\"");
}

TEST(Config, AHeadBeginsSmallWhereItPlaysAndPlainWhereItLearnsLabels) {
  const auto gain = [](const std::string& algorithm) {
    const auto config = Load("[algorithm]\nname = \"" + algorithm + "\"\n");
    return ModelFor(*config, "default", kSpaces)->beginning.policy_gain;
  };
  for (const char* player : {"ppo", "impala", "a2c"}) EXPECT_EQ(gain(player), 0.01) << player;
  for (const char* learner : {"supervised", "bc"}) EXPECT_EQ(gain(learner), 1.0) << learner;
}

TEST(Config, GradientsAreClippedUnlessTheLengthIsZero) {
  const auto length = [](const std::string& text) {
    const auto config = Load("[algorithm]\n" + text);
    return ModelFor(*config, "default", kSpaces)->algorithm.max_grad_norm;
  };
  EXPECT_EQ(length(""), 0.5);
  EXPECT_EQ(length("max_grad_norm = 0\n"), 0.0);
  EXPECT_THAT(Complaint("[algorithm]\nmax_grad_norm = -1\n"), ::testing::HasSubstr("got -1"));
}

TEST(Config, ActionsAreScaledToTheirBoxUnlessTheyAreSquashedOrFree) {
  const auto scaled = [](const std::string& text, const Space& action) {
    const auto config = Load("[model]\n" + text);
    return ModelFor(*config, "default", {Box({2}), action})->spec.continuous.scaled;
  };
  EXPECT_TRUE(scaled("", Box({1}, 0, 100)));
  EXPECT_FALSE(scaled("", Box({1})));
  EXPECT_FALSE(scaled("", Discrete(3)));
  EXPECT_FALSE(scaled("squashed = true\n", Box({1}, 0, 100)));
  EXPECT_FALSE(scaled("scale_actions = false\n", Box({1}, 0, 100)));
}

TEST(Config, OnlyContinuousActionsHaveADeviationToBeginWith) {
  const auto config = Load("[model]\ninitial_deviation = 0.25\n");
  const Spaces mixed = {Box({2}), Dict({{"jump", Discrete(2)}, {"aim", Box({2}, -1, 1)}})};
  EXPECT_EQ(ModelFor(*config, "default", mixed)->beginning.deviation, 0.25f);
  EXPECT_EQ(ModelFor(*config, "npc", {Box({2}), Discrete(2)}).status().message(),
            "c.toml:2: model.initial_deviation: got 0.25, expected no such line, because no action "
            "of model npc is continuous; take it out, or write it only in [model.NAME] of a model "
            "whose actions are");
  EXPECT_TRUE(
      ModelFor(*Load("[model]\ninitial_deviation = 1.0\n"), "npc", {Box({2}), Discrete(2)}).ok());
}

TEST(Config, OnlyARecurrentModelHasAStateToKeep) {
  const auto config = Load("[model]\nrecurrent = \"gru 32\"\nkeep_bias = 2.5\n");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ModelFor(*config, "default", kSpaces)->beginning.keep_bias, 2.5f);
  EXPECT_FALSE(ModelFor(*Load(""), "default", kSpaces)->beginning.keep_bias);
  EXPECT_EQ(Complaint("[model]\nkeep_bias = 2.5\n"),
            "c.toml:2: model.keep_bias: the model does not recur and has no state to keep; take "
            "the line out, or write recurrent = \"gru 32\"");
}

}  // namespace
}  // namespace murmurate
