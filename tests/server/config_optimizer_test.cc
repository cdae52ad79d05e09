#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/config/model_settings.h"

namespace murmurate {
namespace {

AlgorithmSettings SettingsOf(const std::string& text) {
  const auto config = Config::Load({"c.toml", "c", text}, {});
  EXPECT_TRUE(config.ok()) << config.status();
  return ModelFor(*config, "default", {Box({4}), Discrete(2)})->algorithm;
}

TEST(ConfigOptimizer, EveryNameIsTaken) {
  using Name = OptimizerSettings::Name;
  EXPECT_EQ(SettingsOf("[optimizer]\nname = \"sgd\"\n").optimizer, Name::kSgd);
  EXPECT_EQ(SettingsOf("[optimizer]\nname = \"adagrad\"\n").optimizer, Name::kAdagrad);
  const AlgorithmSettings momentum =
      SettingsOf("[optimizer]\nname = \"momentum\"\nmomentum = 0.99\n");
  EXPECT_EQ(momentum.optimizer, Name::kMomentum);
  EXPECT_DOUBLE_EQ(momentum.optimizer_momentum, 0.99);
  EXPECT_DOUBLE_EQ(SettingsOf("").optimizer_momentum, 0.9);
}

TEST(ConfigOptimizer, NameThatIsNoneIsRefused) {
  const auto config = Config::Load({"c.toml", "c", "[optimizer]\nname = \"nesterov\"\n"}, {});
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(
      config.status().message(),
      "c.toml:2: optimizer.name: got \"nesterov\" (a string), expected \"adam\" or \"rmsprop\" "
      "or \"sgd\" or \"momentum\" or \"adagrad\"; write for example name = \"adam\"");
}

std::string Complaint(const std::string& text) {
  const auto config = Config::Load({"c.toml", "c", text}, {});
  EXPECT_FALSE(config.ok()) << text;
  return config.status().message();
}

TEST(ConfigOptimizer, AdamHasTwoBetas) {
  const OptimizerSettings usual = OptimizerOf(SettingsOf(""));
  EXPECT_EQ(usual.adam.beta1, 0.9f);
  EXPECT_EQ(usual.adam.beta2, 0.999f);
  const OptimizerSettings own = OptimizerOf(SettingsOf("[optimizer]\nbeta1 = 0\nbeta2 = 0.95\n"));
  EXPECT_EQ(own.adam.beta1, 0.0f);
  EXPECT_EQ(own.adam.beta2, 0.95f);
  for (const char* beta : {"beta1 = 1.0", "beta2 = 1", "beta1 = -0.1"})
    EXPECT_THAT(Complaint(std::string("[optimizer]\n") + beta + '\n'),
                testing::HasSubstr("got " + std::string(beta).substr(8)));
}

TEST(ConfigOptimizer, TheValueMayHaveARateOfItsOwn) {
  EXPECT_EQ(OptimizerOf(SettingsOf("")).value_rate, 1.0f);
  EXPECT_EQ(OptimizerOf(SettingsOf("[optimizer]\nvalue_rate_factor = 3\n")).value_rate, 3.0f);
  const std::string factor = "[optimizer]\nvalue_rate_factor = 3\n";
  EXPECT_EQ(Complaint(factor + "[algorithm]\nname = \"bc\"\n"),
            "c.toml:2: optimizer.value_rate_factor: got 3.0, expected no such line, because bc "
            "learns no value; take it out");
  EXPECT_THAT(Complaint("[optimizer]\nname = \"sgd\"\nvalue_rate_factor = 3\n[parameters]\n"
                        "rule = \"hogwild\"\n"),
              testing::HasSubstr("optimizer.value_rate_factor: got 3.0, expected no such line, "
                                 "because hogwild makes plain steps; take it out"));
}

TEST(ConfigOptimizer, OnlyAdamTakesBetas) {
  EXPECT_EQ(Complaint("[optimizer]\nname = \"rmsprop\"\nbeta2 = 0.95\n"),
            "c.toml:3: optimizer.beta2: got 0.95, expected no such line, because only adam has it, "
            "and the optimizer is rmsprop; take it out, or write name = \"adam\"");
  EXPECT_EQ(SettingsOf("[optimizer]\nbeta1 = 0.8\n[model.npc.algorithm]\nname = \"impala\"\n")
                .optimizer_beta1,
            0.8);
  const std::string sgd =
      "[optimizer]\nname = \"sgd\"\nbeta1 = 0.5\n[parameters]\nmode = "
      "\"server\"\nshards = [\"tcp://127.0.0.1:7430\"]\n";
  EXPECT_THAT(Complaint(sgd), testing::HasSubstr("optimizer.beta1"));
  const auto shards = Config::Load({"c.toml", "c", sgd + "optimizer = \"adam\"\n"}, {});
  ASSERT_TRUE(shards.ok()) << shards.status();
  const ShardSettings settings = ShardSettingsFor(*shards, "default");
  EXPECT_EQ(settings.optimizer.adam.beta1, 0.5f);
  EXPECT_THAT(settings.ToText(), testing::HasSubstr("optimizer adam 0.5 0.999000013 "));
}

TEST(ConfigOptimizer, TheValueOfAnAlgorithmOfOnePassLearnsFasterWhereStepsAreScaled) {
  const std::string impala = "[algorithm]\nname = \"impala\"\n";
  const auto factor = [&](const std::string& optimizer) {
    return SettingsOf(impala + "[optimizer]\n" + optimizer).value_rate_factor;
  };
  EXPECT_EQ(factor(""), 5.0);
  EXPECT_EQ(factor("name = \"rmsprop\"\n"), 5.0);
  EXPECT_EQ(factor("name = \"sgd\"\nlearning_rate = 0.1\n"), 1.0);
  EXPECT_EQ(factor("name = \"momentum\"\nlearning_rate = 0.1\n"), 1.0);
  EXPECT_EQ(factor("name = \"sgd\"\nlearning_rate = 0.1\nvalue_rate_factor = 2\n"), 2.0);
}

}  // namespace
}  // namespace murmurate
