// What a game shows or asks of a part that its spaces do not have: a mistake in the program, so it
// aborts and names the part.
#include <gtest/gtest.h>

#include <cmath>

#include "client/game_action.h"
#include "tests/client/game.h"
#include "tests/client/mixed_game.h"

namespace murmurate {
namespace {

using AnySpacesDeathTest = testing::Test;

TEST(AnySpacesDeathTest, WhatTheSpaceDoesNotHaveAbortsByName) {
  Workbench bench(4, ClientOptions(), MixedSpec());
  const Scene scene(0);
  const std::vector<std::uint8_t> large(5);
  const std::vector<float> three(3);
  EXPECT_DEATH(
      bench.agent->observation().Observe({{"camera", scene.camera}, {"place", scene.place}}),
      "observation.kind has 1 int32 in its space, but was shown only .camera. .place.");
  EXPECT_DEATH(bench.agent->observation().Observe(
                   {{"camera", large}, {"place", scene.place}, {"kind", scene.kind}}),
               "observation.camera has 4 uint8 in its space, but was shown 5 uint8");
  EXPECT_DEATH(bench.agent->observation().Observe(
                   {{"camera", scene.camera}, {"place", scene.kind}, {"kind", scene.kind}}),
               "observation.place has 1 float in its space, but was shown 1 int32");
  EXPECT_DEATH(bench.agent->observation().Observe(scene.Show().Add({"radar", scene.place})),
               "no part .radar.");
  EXPECT_DEATH(bench.agent->observation().Observe(scene.Show().Add({"place", scene.place})),
               "a part twice");
  EXPECT_DEATH(bench.agent->observation().SetMask(scene.camera), "a mask of 4 bytes");
  EXPECT_DEATH(bench.agent->observation().Observe(std::span<const float>(three)),
               "give Act an Observation");
  bench.agent->Play(scene.Show());
  EXPECT_DEATH(bench.agent->action().choice(), "not one choice");
  EXPECT_DEATH(bench.agent->Took(1), "not one choice");
  Action action(bench.spec.spaces.action);
  action.choices("weapon")[0] = 3;
  EXPECT_DEATH(bench.agent->Took(action), "Took: .*weapon");
  EXPECT_DEATH(bench.agent->Took(action, std::nanf("")), "Took: a log-probability of .*nan");
  EXPECT_DEATH(action.numbers("weapon"), "no part \"weapon\" of numbers");
  EXPECT_DEATH(action.choice("weapon"), "use choices");
  EXPECT_EQ(action.number("turn"), 0.0f);
  EXPECT_DEATH(Action(Box({4}, {-1, -1}, {1, 1})), "each of its 4 numbers");
}

TEST(AnySpacesDeathTest, TheProgramIsToldWhichCallWasWrongAndThatItIsItsOwnMistake) {
  auto client = Client::Connect("ipc:///nowhere/at/all", {.quiet = true});
  ASSERT_TRUE(client.ok()) << client.status();
  const AgentOptions options{.observation = Box({4}), .action = Discrete(2)};
  Agent agent = (*client)->NewAgent(options);
  AgentGroup group = (*client)->NewAgentGroup(options, 2);
  const std::vector<float> five(5), eight(8);
  std::vector<float> numbers(1);
  std::vector<std::int32_t> actions(3);
  const std::string whose = "The mistake is in the program that makes this call";
  EXPECT_DEATH(agent.Act(five),
               "murmurate: Agent::Act: an observation of 5 numbers, but the space has 4. " + whose);
  EXPECT_DEATH(agent.Record(five, 0), "Agent::Record: an observation of 5 numbers");
  EXPECT_DEATH(agent.ActContinuous(five, numbers), "Agent::ActContinuous: an observation of 5");
  EXPECT_DEATH(agent.End(kTruncated, std::span<const float>(five)),
               "Agent::End: .*float in its space, but was shown 5 float");
  EXPECT_DEATH(Agent().Reward(1), "Agent::Reward: this Agent is not valid");
  EXPECT_DEATH(group.Act(eight, actions),
               "AgentGroup::Act: 2 observations and room for 3 actions, but the group has 2");
}

TEST(AnySpacesDeathTest, AMaskForAContinuousActionAbortsWithWhatToDo) {
  ModelSpec spec = SmallSpec();
  spec.spaces.action = Box({2}, -1, 1);
  Workbench bench(4, ClientOptions(), spec);
  const std::vector<std::uint8_t> mask(2, 1);
  EXPECT_DEATH(bench.agent->observation().SetMask(mask),
               "the action is continuous and only discrete choices can be forbidden; call Act "
               "without one");
}

}  // namespace
}  // namespace murmurate
