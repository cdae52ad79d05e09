// A replay that is larger than memory, with the real executable: what serve, train and check say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

/// Some 200 TB, whatever machine this is.
constexpr const char* kConfig =
    "[run]\nenvironment = \"cartpole\"\nactors = 1\nagents = 1\nsteps = 1000\n"
    "[algorithm]\nname = \"dqn\"\n[replay]\ncapacity = 4_000_000_000\n[model]\nlayers = [8]\n";
constexpr const char* kSentence =
    "a replay of 4,000,000,000 steps takes [0-9.]+ GB, and [0-9.]+ GB are free; lower "
    "replay.capacity";

TEST(ReplayMemoryTest, TrainIsOneSentence) {
  const Workplace place;
  place.Write("large.toml", kConfig);
  const Ran ran = RunMurmurate(place.path(), {"train", "large.toml", "--quiet"}, 60);
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.errors, MatchesRegex("model default: " + std::string(kSentence) + "\n"));
  EXPECT_FALSE(place.Has("runs")) << "before the run has a folder";
}

TEST(ReplayMemoryTest, ServeEndsWhenItsFirstActorComes) {
  const Workplace place;
  place.Write("large.toml", kConfig);
  const std::string address = "ipc://" + place.path() + "/main";
  Process serve(place.path(), {"serve", "large.toml", "--listen", address});
  ASSERT_TRUE(serve.Says("murmurate serves")) << serve.Errors();
  const Ran actor =
      RunMurmurate(place.path(), {"actor", "cartpole", "--connect", address, "--quiet"}, 60);
  EXPECT_NE(actor.code, 0);
  EXPECT_THAT(actor.errors, HasSubstr("lower replay.capacity"));
  EXPECT_EQ(serve.Wait(20), 5);
  EXPECT_THAT(serve.Errors(), ContainsRegex(kSentence));
}

TEST(ReplayMemoryTest, CheckSaysWhatItTakesAndWhetherThatIsFree) {
  const Workplace place;
  place.Write("large.toml", kConfig);
  const Ran large = RunMurmurate(place.path(), {"check", "large.toml"}, 60);
  EXPECT_EQ(large.code, 0);
  EXPECT_THAT(large.output,
              ContainsRegex("a replay of 4,000,000,000 steps: [0-9,]+ bytes, and [0-9,]+ are free "
                            "here: lower replay.capacity"));
  const Ran small =
      RunMurmurate(place.path(), {"check", "large.toml", "--set", "replay.capacity=20000"}, 60);
  EXPECT_THAT(small.output, ContainsRegex("a replay of 20,000 steps: [0-9,]+ bytes\n"));
  const Ran ppo = RunMurmurate(place.path(), {"check", "cartpole"}, 60);
  EXPECT_THAT(ppo.output, testing::Not(HasSubstr("a replay of")));
}

}  // namespace
}  // namespace murmurate
