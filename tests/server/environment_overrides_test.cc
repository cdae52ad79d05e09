#include "server/config/environment_overrides.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Variables of this process while it lives.
class Variables {
 public:
  explicit Variables(const std::vector<std::pair<std::string, std::string>>& all) : all_(all) {
    for (const auto& [name, value] : all_) setenv(name.c_str(), value.c_str(), 1);
  }
  ~Variables() {
    for (const auto& [name, value] : all_) unsetenv(name.c_str());
  }

 private:
  const std::vector<std::pair<std::string, std::string>> all_;
};

Result<Config> LoadWith(const std::string& text,
                        const std::vector<std::pair<std::string, std::string>>& variables,
                        const std::vector<ConfigOverride>& more = {}) {
  const Variables set(variables);
  std::vector<ConfigOverride> overrides = TakeEnvironmentOverrides();
  overrides.insert(overrides.end(), more.begin(), more.end());
  return Load(text, overrides);
}

std::string ComplaintOf(const std::string& variable, const std::string& value = "5") {
  const auto config = LoadWith("", {{variable, value}});
  return config.ok() ? "(it was accepted)" : config.status().message();
}

TEST(EnvironmentOverrides, HoldOverTheFileAndSetHoldsOverThem) {
  const std::string file = "[run]\nseed = 1\n";
  const auto config = LoadWith(file, {{"MURMURATE_RUN__SEED", "2"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->run().seed, 2u);
  EXPECT_EQ(config->entries().values.at("run.seed").origin, "MURMURATE_RUN__SEED");
  EXPECT_EQ(LoadWith(file, {{"MURMURATE_RUN__SEED", "2"}}, {{"run.seed", "3"}})->run().seed, 3u);
}

TEST(EnvironmentOverrides, TakeTomlAndBareStrings) {
  const auto config = LoadWith("", {{"MURMURATE_MODEL__LAYERS", "[8, 16]"},
                                    {"MURMURATE_RUN__NAME", "night"},
                                    {"MURMURATE_RUN__MAX_DISK", "10GB"}});
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ToToml(config->entries().values.at("model.layers").value), "[8, 16]");
  EXPECT_EQ(config->run().name, "night");
  EXPECT_EQ(config->run().max_disk, 10'000'000'000u);
}

TEST(EnvironmentOverrides, AnUnknownOneIsOneLineThatNamesTheNearest) {
  EXPECT_EQ(ComplaintOf("MURMURATE_RUN__SEEED"),
            "MURMURATE_RUN__SEEED: unknown key \"seeed\" in [run]; did you mean \"seed\"?");
  EXPECT_EQ(ComplaintOf("MURMURATE_RUIN__SEED"),
            "MURMURATE_RUIN__SEED: unknown section [ruin]; did you mean \"run\"?");
  EXPECT_THAT(ComplaintOf("MURMURATE_RUN__"), HasSubstr("expected MURMURATE_SECTION__KEY"));
  EXPECT_EQ(ComplaintOf("MURMURATE_RUN_SEED"),
            "MURMURATE_RUN_SEED: expected MURMURATE_SECTION__KEY, with two underscores between "
            "section and key; write MURMURATE_RUN__SEED");
}

TEST(EnvironmentOverrides, VariablesOfOtherMeaningsStayAndSettingsAreTaken) {
  const Variables set({{"MURMURATE_KERNELS", "plain"},
                       {"MURMURATE_LIBRARY", "/nowhere"},
                       {"MURMURATE_RUN__SEED", "2"}});
  ASSERT_EQ(TakeEnvironmentOverrides().size(), 1u);
  EXPECT_STREQ(std::getenv("MURMURATE_KERNELS"), "plain");
  EXPECT_STREQ(std::getenv("MURMURATE_LIBRARY"), "/nowhere");
  EXPECT_EQ(std::getenv("MURMURATE_RUN__SEED"), nullptr) << "a child would hear it twice";
  EXPECT_TRUE(TakeEnvironmentOverrides().empty());
}

TEST(EnvironmentOverrides, NamesOfTheUsersAreThoseOfTheFile) {
  const auto config = LoadWith("[model.Big-Npc]\nlayers = [4]\n[settings]\nDifficulty = 1\n",
                               {{"MURMURATE_MODEL__BIG_NPC__ALGORITHM__EPOCHS", "7"},
                                {"MURMURATE_SETTINGS__DIFFICULTY", "3"},
                                {"MURMURATE_SETTINGS__WIND", "2"}});
  ASSERT_TRUE(config.ok()) << config.status();
  const auto& values = config->entries().values;
  EXPECT_EQ(ToToml(values.at("model.Big-Npc.algorithm.epochs").value), "7");
  EXPECT_EQ(ToToml(values.at("settings.Difficulty").value), "3.0");
  EXPECT_EQ(ToToml(values.at("settings.wind").value), "2.0");
}

TEST(EnvironmentOverrides, NamesWithADotAreOneWord) {
  const auto config = LoadWith(
      "[model.\"big.npc\"]\nlayers = [4]\n[settings]\n\"wind.x\" = 1\n",
      {{"MURMURATE_MODEL__BIG_NPC__ALGORITHM__EPOCHS", "7"}, {"MURMURATE_SETTINGS__WIND_X", "3"}},
      {{"settings.\"wind.y\"", "4"}});
  ASSERT_TRUE(config.ok()) << config.status();
  const auto& values = config->entries().values;
  EXPECT_EQ(ToToml(values.at("model.big.npc.algorithm.epochs").value), "7");
  EXPECT_EQ(ToToml(values.at("settings.wind.x").value), "3.0");
  EXPECT_EQ(ToToml(values.at("settings.wind.y").value), "4.0");
}

TEST(EnvironmentOverrides, APasswordIsRefusedAndNotShown) {
  const std::string complaint = ComplaintOf("MURMURATE_STREAM__X__PASSWORD", "hunter2");
  EXPECT_THAT(complaint, HasSubstr("stream.x.password"));
  EXPECT_THAT(complaint, Not(HasSubstr("hunter2")));
}

TEST(Sizes, AreCountsOrNumbersWithAUnit) {
  const std::pair<const char*, std::int64_t> good[] = {{"2000000", 2'000'000},
                                                       {"\"10GB\"", 10'000'000'000},
                                                       {"\"1.5 GiB\"", 1'610'612'736},
                                                       {"\"64MiB\"", 67'108'864}};
  for (const auto& [text, bytes] : good)
    EXPECT_EQ(Load("[run]\nmax_disk = " + std::string(text) + '\n')->run().max_disk, bytes) << text;
  for (const char* text : {"0", "-1", "\"-1GB\"", "\"10 potatoes\"", "\"GB\"", "\"999999999TB\"",
                           "\"1MB2\"", "\"\"", "1.5", "true", "999999"})
    EXPECT_THAT(Complaint("[run]\nmax_disk = " + std::string(text) + '\n'),
                HasSubstr("expected a count of bytes of at least 1000000, or a size such as"))
        << text;
}

}  // namespace
}  // namespace murmurate
