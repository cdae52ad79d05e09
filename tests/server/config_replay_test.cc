// What a config says of algorithms that learn from a replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "server/learn/algorithm.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

const Spaces kNumbers{Box({3}), Box({2}, -1, 1)};

Result<ModelSettings> Model(const std::string& text, const Spaces& spaces = kNumbers) {
  const auto config = Load(text);
  if (!config.ok()) return config.status();
  return ModelFor(*config, "default", spaces);
}

TEST(ConfigReplayTest, SacAndTd3HaveDefaultsOfTheirOwn) {
  const auto sac = Model("[algorithm]\nname = \"sac\"\n");
  ASSERT_TRUE(sac.ok()) << sac.status();
  EXPECT_EQ(sac->algorithm.n_step, 1);
  EXPECT_EQ(sac->algorithm.replay.minibatch, 256);
  EXPECT_EQ(sac->algorithm.replay.samples_per_insert, 256.0);
  EXPECT_EQ(sac->algorithm.target_part, 0.005);
  EXPECT_EQ(sac->algorithm.policy.every, 1);
  EXPECT_FALSE(sac->algorithm.policy.target_entropy);
  EXPECT_FALSE(sac->algorithm.normalize_reward);
  EXPECT_EQ(sac->spec.networks.size(), 5u);
  const auto td3 = Model("[algorithm]\nname = \"td3\"\nnoise = 0.2\nnoise_color = \"pink\"\n");
  ASSERT_TRUE(td3.ok()) << td3.status();
  EXPECT_EQ(td3->algorithm.policy.every, 2);
  EXPECT_EQ(td3->algorithm.target_every, 2);
  EXPECT_EQ(td3->algorithm.policy.noise, 0.2);
  EXPECT_EQ(td3->algorithm.policy.noise_color, ActSettings::Noise::kPink);
  EXPECT_EQ(td3->spec.networks.size(), 6u);
}

TEST(ConfigReplayTest, DqnMayLearnQuantilesAValueOfTheStateAndPlayByALadder) {
  const Spaces choices{Box({3}), Discrete(4)};
  const auto plain = Model("[algorithm]\nname = \"dqn\"\n", choices);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(plain->spec.networks.size(), 2u);
  EXPECT_EQ(plain->algorithm.kind->act(plain->algorithm, 0).ladder_count, 0u);
  const auto dqn = Model(
      "[algorithm]\nname = \"dqn\"\ndueling = true\nquantiles = 50\nepsilon = 0.4\n"
      "epsilon_ladder = 8\nepsilon_ladder_alpha = 5\n",
      choices);
  ASSERT_TRUE(dqn.ok()) << dqn.status();
  EXPECT_EQ(dqn->spec.Find("value")->outputs, 1);
  EXPECT_EQ(dqn->spec.Find("quantiles")->outputs, 200);
  const ActSettings act = dqn->algorithm.kind->act(dqn->algorithm, 0);
  EXPECT_EQ(act.ladder_count, 8u);
  EXPECT_FLOAT_EQ(EpsilonOf(act, 0), 0.4f);
  EXPECT_FLOAT_EQ(EpsilonOf(act, 15), std::pow(0.4f, 6.0f)) << "the eighth agent's";
}

TEST(ConfigReplayTest, WhatARunWritesOfItselfIsRead) {
  for (const char* name : {"sac\"", "td3\"", "dqn\"", "dqn\"\ndueling = true\nquantiles = 9\n"}) {
    const auto config = Load("[algorithm]\nname = \"" + std::string(name) + "\n");
    ASSERT_TRUE(config.ok()) << config.status();
    const auto again = Load(ResolvedToml(*config));
    EXPECT_TRUE(again.ok()) << again.status();
  }
}

TEST(ConfigReplayTest, KeysOfOthersAreRefused) {
  EXPECT_THAT(Complaint("[algorithm]\nname = \"sac\"\nepsilon = 0.2\n"),
              HasSubstr("c.toml:3: algorithm.epsilon: got 0.2, expected no such line"));
  EXPECT_THAT(Complaint("[algorithm]\nname = \"td3\"\ntarget_entropy = -2.0\n"),
              HasSubstr("algorithm.target_entropy: got"));
  EXPECT_THAT(Complaint("[algorithm]\nname = \"dqn\"\npolicy_every = 2\n"),
              HasSubstr("algorithm.policy_every: got 2"));
  for (const std::string key : {"dueling = true", "quantiles = 8", "epsilon_ladder = 8"})
    for (const std::string name : {"sac", "td3"})
      EXPECT_THAT(Complaint("[algorithm]\nname = \"" + name + "\"\n" + key + "\n"),
                  HasSubstr("expected no such line, because " + name));
  EXPECT_THAT(Complaint("[algorithm]\nquantiles = 8\n"), HasSubstr("ppo learns from no replay"));
  EXPECT_THAT(Complaint("[algorithm]\nname = \"dqn\"\nquantiles = 0\n"),
              HasSubstr("algorithm.quantiles: got 0"));
  EXPECT_THAT(Complaint("[algorithm]\ntarget_entropy = -2.0\n"),
              HasSubstr("ppo learns from no replay"));
}

constexpr const char* kMemory = "[model]\nrecurrent = \"gru 8\"\n";

TEST(ConfigReplayTest, SequencesFollowTheTrajectory) {
  const Spaces choices{Box({3}), Discrete(2)};
  const std::string r2d2 = kMemory + std::string("[algorithm]\nname = \"r2d2\"\n");
  const auto usual = Model(r2d2, choices);
  ASSERT_TRUE(usual.ok()) << usual.status();
  EXPECT_EQ(usual->algorithm.trajectory_length, 40);
  EXPECT_EQ(usual->algorithm.replay.sequence, 120);
  EXPECT_EQ(usual->algorithm.burn_in, 40);
  EXPECT_GT(usual->algorithm.replay.priority_exponent, 0.0);
  EXPECT_FALSE(usual->algorithm.normalize_reward);
  const auto shorter = Model(r2d2 + "trajectory_length = 16\n", choices);
  ASSERT_TRUE(shorter.ok()) << shorter.status();
  EXPECT_EQ(shorter->algorithm.replay.sequence, 48);
  EXPECT_EQ(shorter->algorithm.burn_in, 16);
  const auto one = Model(r2d2 + "[replay]\nsequence = 40\n", choices);
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_EQ(one->algorithm.burn_in, 20);
  const auto again = Load(ResolvedToml(*Load(r2d2)));
  EXPECT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Model("[algorithm]\nname = \"dqn\"\n", choices)->algorithm.replay.sequence, 0);
}

TEST(ConfigReplayTest, SequencesThatCannotBeAreRefused) {
  const std::string r2d2 = kMemory + std::string("[algorithm]\nname = \"r2d2\"\n");
  EXPECT_EQ(
      Complaint("[algorithm]\nname = \"r2d2\"\n"),
      "c.toml:2: algorithm.name: got \"r2d2\", expected another algorithm, because r2d2 learns "
      "what a memory is worth and the model has none; write recurrent = \"gru 32\" in its "
      "section, or name = \"dqn\"");
  EXPECT_EQ(Complaint(r2d2 + "[replay]\nsequence = 100\n"),
            "c.toml:6: replay.sequence: got 100, expected a multiple of trajectory_length (40), "
            "because a sequence begins where a trajectory does; write for example sequence = 120");
  EXPECT_EQ(Complaint(r2d2 + "[replay]\ncapacity = 100\nlearning_starts = 50\n"),
            "c.toml:6: replay.capacity: got 100, expected at least sequence (120), or no sample is "
            "ever complete");
  EXPECT_EQ(Complaint(r2d2 + "burn_in = 120\n"),
            "c.toml:5: algorithm.burn_in: got 120, expected less than replay.sequence (120), or no "
            "step is learned from; write for example burn_in = 30");
  EXPECT_EQ(
      Complaint("[algorithm]\nname = \"dqn\"\n[replay]\nsequence = 80\n"),
      "c.toml:4: replay.sequence: got 80, expected no such line, because dqn learns from single "
      "steps; take it out, or write name = \"r2d2\" in [algorithm]");
  const auto numbers = Model(r2d2);
  EXPECT_THAT(numbers.status().message(), HasSubstr("r2d2 learns a value for each choice"));
}

TEST(ConfigReplayTest, DemonstrationsAreAFolderAndAPartOfAMinibatch) {
  const std::string sac = "[algorithm]\nname = \"sac\"\n[replay]\n";
  const auto model = Model(sac + "demonstrations = \"/play\"\ndemonstration_share = 0.25\n");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->algorithm.replay.demonstrations, "/play");
  EXPECT_EQ(model->algorithm.replay.demonstrated(), 64);
  EXPECT_TRUE(Model(sac + "demonstrations = \"/play\"\n").ok()) << "they only fill it";
  EXPECT_THAT(Complaint(sac + "demonstration_share = 0.5\n"),
              HasSubstr("c.toml:4: replay.demonstration_share: is a part of demonstrations, and "
                        "none are named"));
  for (const char* share : {"0.001", "0.999", "1"})
    EXPECT_THAT(Complaint(sac + "demonstrations = \"/play\"\ndemonstration_share = " + share),
                HasSubstr("expected a part of 256 samples that leaves at least one of them"));
  EXPECT_THAT(Complaint("[replay]\ndemonstrations = \"/play\"\n"),
              HasSubstr("ppo learns from no replay"));
}

TEST(ConfigReplayTest, WhatLearnsFromRecordingsAloneNeedsThem) {
  const std::string iql = "[algorithm]\nname = \"iql\"\n";
  const std::string data = "[data]\npath = \"/play\"\n";
  const auto model = Model(iql + "expectile = 0.9\n" + data);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->algorithm.policy.expectile, 0.9);
  EXPECT_EQ(model->algorithm.n_step, 1);
  EXPECT_EQ(model->algorithm.target_part, 0.005);
  EXPECT_EQ(model->algorithm.target_every, 1);
  EXPECT_EQ(model->spec.networks.size(), 6u);
  const auto config = Load(iql + data);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(Load(ResolvedToml(*config)).ok());
  EXPECT_THAT(Complaint(iql), HasSubstr("algorithm.name: is given without a recording"));
  EXPECT_THAT(Complaint(iql + data + "holdout = 0.1\n"), HasSubstr("holds out labels"));
  EXPECT_THAT(Complaint(iql + "epsilon = 0.2\n" + data), HasSubstr("expected no such line"));
  EXPECT_THAT(Complaint(iql + data + "[replay]\ncapacity = 5\n"),
              HasSubstr("iql learns from no replay"));
  EXPECT_THAT(Complaint("[algorithm]\nexpectile = 0.9\n"),
              HasSubstr("ppo learns from no recorded rewards; take it out, or write name = "
                        "\"iql\""));
  EXPECT_THAT(Complaint("[algorithm]\nname = \"sac\"\nexpectile = 0.9\n"),
              HasSubstr("algorithm.expectile: got 0.9, expected no such line"));
  EXPECT_THAT(Model("[model]\nrecurrent = \"gru 8\"\n" + iql + data).status().message(),
              HasSubstr("this model remembers"));
}

TEST(ConfigReplayTest, APolicyThatWaitsIsOfOneLearner) {
  EXPECT_EQ(Complaint("[run]\nlearners = 2\n[algorithm]\nname = \"td3\"\npolicy_every = 3\n"),
            "c.toml:5: algorithm.policy_every: got 3, expected 1, because learners that share a "
            "model step all of its networks at once; write policy_every = 1, or train with one "
            "learner");
  EXPECT_EQ(Complaint("[run]\nlearners = 2\n[algorithm]\nname = \"td3\"\npolicy_every = 1\n"),
            "(it was accepted)");
}

TEST(ConfigReplayTest, QuantilesOfVeryManyChoicesAreRefused) {
  const auto model =
      Model("[algorithm]\nname = \"dqn\"\nquantiles = 200\n", {Box({3}), Discrete(1000)});
  EXPECT_THAT(model.status().message(),
              HasSubstr("\"quantiles\" has 200000 outputs, expected at most 65536"));
}

TEST(ConfigReplayTest, ActionsThatCannotBeLearnedAreNamed) {
  const auto sac = Model("[algorithm]\nname = \"sac\"\n", {Box({3}), MultiBinary(2)});
  EXPECT_THAT(sac.status().message(), HasSubstr("numbers alone or of choices alone"));
  const auto td3 = Model("[algorithm]\nname = \"td3\"\n", {Box({3}), Discrete(2)});
  EXPECT_THAT(td3.status().message(), HasSubstr("td3 learns actions of numbers"));
  EXPECT_TRUE(Model("[algorithm]\nname = \"sac\"\n", {Box({3}), Discrete(2)}).ok());
}

}  // namespace
}  // namespace murmurate
