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
