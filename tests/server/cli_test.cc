// The command line as a user meets it: one line of error, the right exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

TEST(CommandLine, HelpNamesEverySubcommand) {
  Workplace place;
  const Ran ran = RunMurmurate(place.path(), {"--help"});
  EXPECT_EQ(ran.code, 0);
  for (const char* name : {"serve", "train", "actor", "eval", "status", "stop", "set", "check",
                           "doctor", "plot", "--set"})
    EXPECT_THAT(ran.output, HasSubstr(name));
}

TEST(CommandLine, EverySubcommandHasHelp) {
  Workplace place;
  for (const char* name :
       {"serve", "train", "actor", "eval", "status", "stop", "set", "check", "doctor", "plot"}) {
    const Ran ran = RunMurmurate(place.path(), {name, "--help"});
    EXPECT_EQ(ran.code, 0) << name;
    EXPECT_THAT(ran.output, HasSubstr("Usage")) << name;
  }
}

TEST(CommandLine, UsageErrorsAreOneLineAndTwo) {
  Workplace place;
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"dance"},
                                             {"train"},
                                             {"serve", "--nonsense"},
                                             {"actor", "chess"},
                                             {"serve", "--set", "epochs"},
                                             {"actor", "cartpole", "--pace", "never2"},
                                             {"actor", "cartpole", "--distractors", "4"},
                                             {"actor", "recall", "--distractors", "-1"},
                                             {"eval", "nothing"},
                                             {"status", "nothing"},
                                             {"stop"},
                                             {"train", "nope"},
                                             {"serve", "missing.toml"},
                                             {"check", "/tmp"}}) {
    const Ran ran = RunMurmurate(place.path(), arguments);
    EXPECT_EQ(ran.code, 2) << ::testing::PrintToString(arguments) << ran.output;
    EXPECT_EQ(std::count(ran.errors.begin(), ran.errors.end(), '\n'), 1) << ran.errors;
  }
}

TEST(CommandLine, UnknownKeyNamesFileLineAndNearest) {
  Workplace place;
  place.Write("c.toml", "[run]\nsed = 1\n");
  const Ran ran = RunMurmurate(place.path(), {"serve", "c.toml"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.errors, "c.toml:2: unknown key \"sed\" in [run]; did you mean \"seed\"?\n");
  EXPECT_FALSE(place.Has("runs"));
}

TEST(CommandLine, TrainWithoutAnEnvironmentSaysWhatToWrite) {
  Workplace place;
  place.Write("c.toml", "[run]\nseed = 1\n");
  const Ran ran = RunMurmurate(place.path(), {"train", "c.toml"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.errors, HasSubstr("run.environment is not set"));
}

TEST(CommandLine, CheckShowsValuesWithTheirOrigins) {
  Workplace place;
  place.Write("c.toml", "[run]\nenvironment = \"cartpole\"\n[algorithm]\nepochs = 5\n");
  const Ran ran = RunMurmurate(place.path(), {"check", "c.toml", "--set", "run.seed=9"});
  EXPECT_EQ(ran.code, 0) << ran.errors;
  EXPECT_THAT(ran.output, ::testing::ContainsRegex("algorithm.epochs +5 +c.toml:4"));
  EXPECT_THAT(ran.output, ::testing::ContainsRegex("run.seed +9 +--set run.seed=9"));
  EXPECT_THAT(ran.output, ::testing::ContainsRegex("algorithm.gamma +0.99 +default"));
  EXPECT_THAT(ran.output, ::testing::ContainsRegex("dense 64 tanh +64 +320 +1,280 +512"));
  EXPECT_THAT(ran.output, ::testing::ContainsRegex("policy head +2 +130 +520 +256"));
  EXPECT_THAT(ran.output, ::testing::ContainsRegex("all +9,155 +36,620 +17,792"));
  EXPECT_THAT(ran.output, ::testing::ContainsRegex("one Act, measured here: [0-9.]+ us"));
}

TEST(CommandLine, AModelThatDoesNotSuitTheSpacesIsRefusedBeforeAnythingStarts) {
  Workplace place;
  place.Write("c.toml", "[run]\nenvironment = \"cartpole\"\n[model]\ntrunk = \"nature_cnn\"\n");
  for (const char* command : {"train", "check"}) {
    const Ran ran = RunMurmurate(place.path(), {command, "c.toml"});
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.errors, HasSubstr("c.toml:4: model.trunk: trunk nature_cnn encodes pictures"));
    EXPECT_EQ(std::count(ran.errors.begin(), ran.errors.end(), '\n'), 1) << ran.errors;
  }
  EXPECT_FALSE(place.Has("runs"));
}

TEST(CommandLine, PlotGathersTheRunsThatDifferInTheirSeedsOnly) {
  Workplace place;
  for (const char* seed : {"1", "2"})
    ASSERT_EQ(RunMurmurate(place.path(), {"train", "cartpole", "--seed", seed, "--steps", "4096",
                                          "--set", "run.name=pole-" + std::string(seed), "--quiet"})
                  .code,
              1);
  const Ran both = RunMurmurate(place.path(), {"plot", "pole-1", "pole-2", "-o", "p/both.svg"});
  EXPECT_EQ(both.code, 0) << both.errors;
  EXPECT_EQ(both.output, "p/both.svg\n");
  EXPECT_THAT(place.Read("p/both.svg"), HasSubstr(">pole</text>"));
  EXPECT_THAT(place.Read("p/both.svg"), HasSubstr(">median and range of 2 runs"));
  EXPECT_THAT(place.Read("p/both.svg"), HasSubstr(">stop at 475</text>"));
  const Ran one = RunMurmurate(place.path(), {"plot", "pole-1", "--title", "mine"});
  EXPECT_EQ(one.output, "runs/pole-1/plots/learning.svg\n") << one.errors;
  EXPECT_THAT(place.Read("runs/pole-1/plots/learning.svg"), HasSubstr(">mine</text>"));
  const Ran none = RunMurmurate(place.path(), {"plot", "pole-1", "--column", "nonsense"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.errors, HasSubstr("no column \"nonsense\""));
}

TEST(CommandLine, PlotWritesNoSvgUnderAnotherName) {
  Workplace place;
  for (const char* name : {"kl.png", "kl.pdf", "kl.html", "curves"}) {
    const Ran ran = RunMurmurate(place.path(), {"plot", "no-run", "-o", name});
    EXPECT_EQ(ran.code, 2) << name;
    EXPECT_THAT(ran.errors,
                HasSubstr("plot: -o " + std::string(name) + ": expected a name that ends in .svg"));
    EXPECT_FALSE(place.Has(name));
  }
}

TEST(CommandLine, BeyondThisHostIsRefusedWithoutInsecure) {
  Workplace place;
  place.Write("c.toml", "[server]\nlisten = [\"tcp://0.0.0.0:1\"]\n");
  const Ran ran = RunMurmurate(place.path(), {"serve", "c.toml"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.errors, HasSubstr("--insecure"));
}

}  // namespace
}  // namespace murmurate
