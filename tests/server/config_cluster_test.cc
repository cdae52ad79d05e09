// Configs of several learners whose processes are started one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/data/data_settings.h"
#include "server/parameters/parameters_settings.h"
#include "tests/server/config_text.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kFour[] =
    "[run]\nlearners = 4\nshards = 2\nactors = 8\nsteps = 1000\nseed = 7\n"
    "[parameters]\nrule = \"asgd\"\n";

TEST(ConfigCluster, AnotherLearnerOfARunHasItsShareAndThePublicAddresses) {
  auto config = Load(kFour);
  ASSERT_TRUE(config.ok()) << config.status().message();
  ASSERT_TRUE(config->JoinCluster(2).ok());
  const ParametersSettings parameters = config->parameters();
  EXPECT_TRUE(parameters.shared());
  EXPECT_EQ(parameters.worker, 2);
  EXPECT_EQ(parameters.workers, 4);
  EXPECT_THAT(parameters.shards, ElementsAre("tcp://127.0.0.1:7430", "tcp://127.0.0.1:7431"));
  EXPECT_EQ(config->run().actors, 2);
  EXPECT_EQ(config->run().steps, 250u);
  EXPECT_EQ(config->run().seed, 2007u);
  EXPECT_EQ(config->run().learners, 1);
  EXPECT_EQ(config->run().shards, 0);
  EXPECT_THAT(config->run().name, testing::EndsWith("-learner-2"));
  // What is written into its folder says the same: it is what `resume` reads.
  EXPECT_EQ(config->Read(RunKeys()).seed, 2007u);
  EXPECT_EQ(config->Read(RunKeys()).steps, 250u);
}

TEST(ConfigCluster, ANameFromTheEnvironmentIsKept) {
  auto config = Load(kFour, {{"run.name", "mine", "MURMURATE_RUN__NAME"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  ASSERT_TRUE(config->JoinCluster(2).ok());
  EXPECT_EQ(config->run().name, "mine");
}

TEST(ConfigCluster, AddressesAndNamesOfOnesOwnAreKept) {
  auto config = Load(
      kFour, {{"parameters.shards", "[\"ipc:///tmp/a\", \"ipc:///tmp/b\"]"}, {"run.name", "mine"}});
  ASSERT_TRUE(config.ok()) << config.status().message();
  ASSERT_TRUE(config->JoinCluster(0).ok());
  EXPECT_THAT(config->parameters().shards, ElementsAre("ipc:///tmp/a", "ipc:///tmp/b"));
  EXPECT_EQ(config->run().name, "mine");
}

TEST(ConfigCluster, WhatDoesNotFitIsRefused) {
  auto four = Load(kFour);
  ASSERT_TRUE(four.ok());
  EXPECT_THAT(four->JoinCluster(4).message(), HasSubstr("got 4, expected 0 to 3"));
  auto alone = Load("[run]\nseed = 1\n");
  ASSERT_TRUE(alone.ok());
  EXPECT_THAT(alone->NameShards().message(), HasSubstr("so there is no parameter server"));
  auto beyond = Load(kFour);
  ASSERT_TRUE(beyond.ok());
  EXPECT_THAT(beyond->NameShardsAt({"tcp://10.0.0.1:7430", "tcp://10.0.0.1:7431"}).message(),
              HasSubstr("beyond this host"));
}

TEST(ConfigExampleData, NeedsOneFileOfEach) {
  EXPECT_THAT(Complaint("[data]\nexample = \"parabola\"\n"),
              HasSubstr("data.example: makes two arrays"));
  EXPECT_THAT(Complaint("[data]\nexample = \"parabola\"\npath = \"r\"\n"),
              HasSubstr("data.example: makes two arrays"));
  EXPECT_THAT(Complaint("[data]\nexample = \"parabolas\"\nobservations = \"x.npy\"\n"),
              HasSubstr("expected \"parabola\" or \"parabola-grid\" or \"curve\" or \"digits\""));
}

TEST(ConfigExampleData, IsNotMadeInPlaceOfFilesOfOnesOwn) {
  const std::string text =
      "[algorithm]\nname = \"supervised\"\n"
      "[data]\nobservations = \"x.npy\"\nlabels = \"y.npy\"\nexample = \"parabola\"\n";
  const auto config = Load(text);
  ASSERT_TRUE(config.ok()) << config.status().message();
  EXPECT_EQ(config->data().example, ExampleData::kParabola);
  const auto own = Load(text, {{"data.labels", "mine.npy"}});
  ASSERT_TRUE(own.ok()) << own.status().message();
  EXPECT_FALSE(own->data().example);
}

}  // namespace
}  // namespace murmurate
