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

TEST(ConfigRules, PpoExchangesByUpdatesAndOneUpdateABatchByTheRulesSource) {
  const std::string impala = "[algorithm]\nname = \"impala\"\n";
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

TEST(ConfigRules, AeamsgdWithoutMomentumIsToldTheOptimizerAndItsRate) {
  EXPECT_EQ(Complaint(kServer + "rule = \"aeamsgd\"\n"),
            "c.toml:4: parameters.rule: aeamsgd is aeasgd with momentum on the worker; write name "
            "= \"momentum\" and learning_rate = 0.1 in [optimizer], or rule = \"aeasgd\"");
}

}  // namespace
}  // namespace murmurate
