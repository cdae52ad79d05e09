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

}  // namespace
}  // namespace murmurate
