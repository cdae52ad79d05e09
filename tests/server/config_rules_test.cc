// How often and in which form a config has workers exchange with a parameter server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/config_text.h"

namespace murmurate {
namespace {

const std::string kServer =
    "[parameters]\nmode = \"server\"\nshards = [\"tcp://127.0.0.1:7430\"]\n";

RuleSettings RuleOf(const std::string& text) {
  const auto config = Load(text);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? ShardSettingsFor(*config, "default").rule : RuleSettings{};
}

TEST(ConfigRules, ManyUpdatesOfABatchExchangeByUpdatesAndOneByTheRulesSource) {
  const std::string impala = "[algorithm]\nname = \"impala\"\nminibatch = 1024\n";
  EXPECT_EQ(RuleOf("[algorithm]\nname = \"impala\"\n" + kServer + "rule = \"agn\"\n").window, 4);
  EXPECT_EQ(RuleOf(kServer + "rule = \"asgd\"\n").window, 1);
  EXPECT_EQ(RuleOf(kServer + "rule = \"agn\"\n").window, 4);
  EXPECT_EQ(RuleOf(impala + kServer + "rule = \"agn\"\n").window, 12);
  EXPECT_EQ(RuleOf(kServer + "rule = \"downpour\"\n").form, PushForm::kDelta);
  EXPECT_EQ(RuleOf(impala + kServer + "rule = \"downpour\"\n").form, PushForm::kGradient);
}

TEST(ConfigRules, WhatIsWrittenHolds) {
  const RuleSettings rule = RuleOf(kServer + "rule = \"agn\"\nwindow = 7\nform = \"gradient\"\n");
  EXPECT_EQ(rule.window, 7);
  EXPECT_EQ(rule.form, PushForm::kGradient);
  EXPECT_EQ(RuleOf(kServer + "rule = \"asgd\"\nwindow = 0\n").window, kWholeBatch);
  EXPECT_EQ(RuleOf(kServer + "rule = \"downpour\"\nform = \"gradient\"\n").window, 1);
}

TEST(ConfigRules, AWeightThatTheShardsOptimizerDividesOutIsRefused) {
  for (const std::string rule : {"dynsgd", "adag"})
    for (const std::string optimizer : {"adam", "rmsprop", "adagrad"})
      EXPECT_EQ(Complaint(kServer + "rule = \"" + rule + "\"\nform = \"gradient\"\noptimizer = \"" +
                          optimizer + "\"\n"),
                "c.toml:5: parameters.form: got \"gradient\", expected \"delta\", because " + rule +
                    " weighs each push, and " + optimizer +
                    " on the shard divides the weight out again; take the line out, or write "
                    "optimizer = \"sgd\" and a learning_rate for it in [parameters]");
  const std::string gradients = kServer + "rule = \"dynsgd\"\nform = \"gradient\"\n";
  EXPECT_THAT(Complaint(gradients), testing::HasSubstr("and adam on the shard"));
  EXPECT_TRUE(Load(gradients + "optimizer = \"sgd\"\nlearning_rate = 0.1\n").ok());
  EXPECT_TRUE(Load("[optimizer]\nname = \"momentum\"\n" + gradients).ok());
  EXPECT_TRUE(Load(kServer + "rule = \"dynsgd\"\n").ok());
  EXPECT_TRUE(Load(kServer + "rule = \"agn\"\nform = \"gradient\"\n").ok());
  EXPECT_THAT(Complaint("[optimizer]\nname = \"sgd\"\n" + gradients +
                        "[model.npc.optimizer]\nname = \"adam\"\n"),
              testing::HasSubstr("and adam on the shard"));
}

TEST(ConfigRules, AeamsgdBringsMomentumWhereNoOptimizerIsSet) {
  const auto config = Load(kServer + "rule = \"aeamsgd\"\n");
  ASSERT_TRUE(config.ok()) << config.status();
  const AlgorithmSettings settings = ModelFor(*config, "default", kSpaces)->algorithm;
  EXPECT_EQ(settings.optimizer, OptimizerSettings::Name::kMomentum);
  EXPECT_EQ(settings.learning_rate.At(0), 0.1);
  EXPECT_EQ(settings.value_rate_factor, 1.0);
  const auto apart = Load("[parameters]\nrule = \"aeamsgd\"\n");
  ASSERT_TRUE(apart.ok()) << apart.status();
  EXPECT_EQ(ModelFor(*apart, "default", kSpaces)->algorithm.optimizer,
            OptimizerSettings::Name::kAdam)
      << "one learner by itself";
}

TEST(ConfigRules, AeamsgdBesideARateIsToldTheOptimizerAndItsRate) {
  for (const char* set : {"learning_rate = 3e-3", "name = \"adam\""})
    EXPECT_EQ(
        Complaint("[optimizer]\n" + std::string(set) + "\n" + kServer + "rule = \"aeamsgd\"\n"),
        "c.toml:6: parameters.rule: aeamsgd is aeasgd with momentum on the worker; write name "
        "= \"momentum\" and learning_rate = 0.1 in [optimizer], or rule = \"aeasgd\"")
        << set;
}

double FactorOf(const std::string& text) {
  const auto config = Load(text);
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? config->parameters().rate_factor() : 0.0;
}

TEST(ConfigRates, EachLearnerHasTheFactorOfItsNumber) {
  const std::string three = kServer + "workers = 3\nrate_factors = [1, 0.5, 2.0]\n";
  EXPECT_EQ(FactorOf(three), 1.0);
  EXPECT_EQ(FactorOf(three + "worker = 2\n"), 2.0);
  EXPECT_EQ(FactorOf(kServer + "workers = 3\nworker = 2\n"), 1.0);
  EXPECT_EQ(FactorOf("[run]\nlearners = 2\n[parameters]\nrate_factors = [0.25, 1]\n"), 0.25);
}

TEST(ConfigRates, ThatFitNoLearnersAreRefused) {
  const std::string factors = "rate_factors = [1.0, 0.5]\n";
  EXPECT_EQ(Complaint(kServer + factors + "workers = 3\n"),
            "c.toml:4: parameters.rate_factors: got 2 factors, expected 3, one for each of the 3 "
            "learners (parameters.workers)");
  EXPECT_EQ(Complaint("[run]\nlearners = 4\n[parameters]\n" + factors),
            "c.toml:4: parameters.rate_factors: got 2 factors, expected 4, one for each of the 4 "
            "learners (run.learners)");
  EXPECT_EQ(Complaint(kServer + factors + "workers = 2\nworker = 2\n"),
            "c.toml:6: parameters.worker: got 2, expected at most 1, because rate_factors has 2 "
            "learners; give each learner a number of its own");
  EXPECT_THAT(Complaint("[parameters]\n" + factors),
              testing::HasSubstr("expected no such line, because only learners around a parameter "
                                 "server have rates of their own"));
  EXPECT_THAT(
      Complaint("[optimizer]\nname = \"sgd\"\n[parameters]\nrule = \"hogwild\"\n" + factors),
      testing::HasSubstr("expected no such line"));
  EXPECT_THAT(Complaint("[parameters]\ncollective = \"mpi\"\n" + factors),
              testing::HasSubstr("expected no such line"));
  for (const char* wrong : {"[1.0, 0.0]", "[1.0, -1]", "[1.0, 1001]", "[1.0, nan]"})
    EXPECT_THAT(Complaint(kServer + "workers = 2\nrate_factors = " + wrong + "\n"),
                testing::HasSubstr("parameters.rate_factors: "))
        << wrong;
}

}  // namespace
}  // namespace murmurate
