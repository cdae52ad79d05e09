// A model that reads the previous action and reward, from training by separate processes to the
// file that a game plays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kReadsBoth{"--set", "model.previous_action=true", "--set",
                                          "model.previous_reward=true"};

std::vector<std::string> With(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), kReadsBoth.begin(), kReadsBoth.end());
  return arguments;
}

/// Serves recall to one actor in lock-step until 4096 steps are learned from; the weights.
std::string Learn(const Workplace& place, const std::string& run) {
  const std::string address = "ipc://" + place.path() + "/" + run;
  Process serve(place.path(),
                With({"serve", "recall", "--seed", "3", "--set", "run.name=" + run, "--set",
                      "run.stop_at_steps=4096", "--set", "server.listen=[\"" + address + "\"]"}));
  Process actor(place.path(), {"actor", "recall", "--connect", address, "--agents", "8", "--seed",
                               "3", "--pace", "lockstep", "--quiet"});
  EXPECT_EQ(serve.Wait(30), 0) << serve.Errors();
  EXPECT_EQ(actor.Wait(10), 0) << actor.Errors();
  return place.Read("runs/" + run + "/checkpoints/latest/weights.safetensors");
}

TEST(PreviousStepRun, TrainsTheSameAgainInLockstepAndIsEvaluatedAndExported) {
  const Workplace place;
  const std::string run = UniqueRun(), weights = Learn(place, run);
  EXPECT_THAT(weights, HasSubstr("previous action reward"));
  EXPECT_TRUE(weights == Learn(place, UniqueRun())) << "a run in lock-step is the same again";
  const Ran eval = RunMurmurate(place.path(), {"eval", run, "--episodes", "5"});
  EXPECT_EQ(eval.code, 0) << eval.errors;
  EXPECT_THAT(eval.output, HasSubstr("mean "));
  const Ran exported = RunMurmurate(place.path(), {"export", run, "-o", "npc.policy"});
  EXPECT_EQ(exported.code, 0) << exported.errors;
  EXPECT_THAT(place.Read("npc.policy"), HasSubstr("previous action reward"));
}

TEST(PreviousStepRun, CheckShowsTheInputsAndAModelWithoutThemHasNone) {
  const Workplace place;
  const auto checked = [&](const std::vector<std::string>& arguments) {
    return RunMurmurate(place.path(), arguments).output;
  };
  EXPECT_THAT(checked(With({"check", "recall"})),
              HasSubstr("\nprevious_action                                 5"));
  EXPECT_THAT(checked(With({"check", "recall"})),
              HasSubstr("\nprevious_reward                                 1"));
  EXPECT_THAT(checked({"check", "recall"}), Not(HasSubstr("\nprevious_")));
}

}  // namespace
}  // namespace murmurate
