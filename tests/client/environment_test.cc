#include "client/environments/environment.h"

#include <gtest/gtest.h>

#include <chrono>

namespace murmurate {
namespace {

TEST(Environments, AnUnknownNameIsRefusedWithTheKnownOnes) {
  const auto made = MakeEnvironment("pong");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(
      made.status().message(),
      "environment \"pong\": expected one of acrobot, bandit, cartpole, catch, chain, "
      "gridworld, mountain_car, mountain_car_continuous, pendulum, random, recall, regulator");
}

TEST(Environments, EveryoneShowsWhatItsSpacesSay) {
  for (const std::string& name : EnvironmentNames()) {
    auto made = MakeEnvironment(name);
    ASSERT_TRUE(made.ok()) << name;
    Environment& game = **made;
    const Spaces& spaces = game.spaces();
    EXPECT_TRUE(CheckSpaces(spaces).ok()) << name;
    const Observation seen = game.observation();
    ASSERT_EQ(seen.parts().size(), static_cast<std::size_t>(spaces.observation.leaf_count()));
    for (int i = 0; i < spaces.observation.leaf_count(); ++i) {
      const ObservationPart& part = seen.parts()[static_cast<std::size_t>(i)];
      const Space& leaf = spaces.observation.leaf(i);
      EXPECT_EQ(part.name(), spaces.observation.leaf_name(i)) << name;
      EXPECT_EQ(part.count(), static_cast<std::size_t>(leaf.element_count())) << name;
      using Element = ObservationPart::Element;
      const bool numbers = leaf.kind == Space::Kind::kBox;
      const bool bytes = leaf.element == Space::Element::kUint8;
      EXPECT_EQ(part.element(), !numbers ? Element::kInt32
                                : bytes  ? Element::kUint8
                                         : Element::kFloat32)
          << name;
    }
  }
}

TEST(Environments, RandomHasTheSizesAskedFor) {
  auto made = MakeEnvironment("random", {.observation = 5, .action = 3});
  ASSERT_TRUE(made.ok());
  Environment& game = **made;
  EXPECT_EQ(game.spaces().ToText(), "observation float32 5\naction discrete 3\n");
  int ends = 0;
  for (int i = 0; i < 10000; ++i) {
    const StepOutcome outcome = game.Step(0);
    EXPECT_GE(outcome.reward, 0.0);
    EXPECT_LT(outcome.reward, 1.0);
    ends += outcome.terminated;
  }
  EXPECT_GT(ends, 50);  // 100 expected
  EXPECT_LT(ends, 160);
}

StepOutcome Turn(Environment& game, float number) {
  Action action(game.spaces().action);
  action.numbers()[0] = number;
  return game.Step(action);
}

/// The same torques by another box: the same play.
TEST(Environments, PendulumTakesTheBoxOfItsActions) {
  auto usual = MakeEnvironment("pendulum"),
       wide = MakeEnvironment("pendulum", {.action_low = 0, .action_high = 100});
  ASSERT_TRUE(usual.ok() && wide.ok());
  EXPECT_EQ((*usual)->spaces().ToText(),
            "observation float32 3\naction continuous 1 low -2 high 2\n");
  EXPECT_EQ((*wide)->spaces().ToText(),
            "observation float32 3\naction continuous 1 low 0 high 100\n");
  (*usual)->Reset(5);
  (*wide)->Reset(5);
  const float torques[] = {-2, -1, 0, 0.5f, 2, 3}, actions[] = {0, 25, 50, 62.5f, 100, 125};
  for (int i = 0; i < 6; ++i) {
    EXPECT_DOUBLE_EQ(Turn(**usual, torques[i]).reward, Turn(**wide, actions[i]).reward) << i;
  }
  EXPECT_EQ(MakeEnvironment("pendulum", {.action_low = 3}).status().message(),
            "pendulum: action_low is 3, expected less than action_high, 2");
}

TEST(Environments, RewardsAreThoseOfTheGameTimesTheirScale) {
  auto usual = MakeEnvironment("pendulum"),
       scaled = MakeEnvironment("pendulum", {.reward_scale = 1000});
  ASSERT_TRUE(usual.ok() && scaled.ok());
  (*usual)->Reset(5);
  (*scaled)->Reset(5);
  for (int i = 0; i < 10; ++i)
    EXPECT_DOUBLE_EQ(1000 * Turn(**usual, 1).reward, Turn(**scaled, 1).reward);
  EXPECT_FALSE(MakeEnvironment("pendulum", {.reward_scale = 0}).ok());
}

TEST(Environments, SlowStepsAreThoseOfTheGame) {
  auto usual = MakeEnvironment("pendulum"), slow = MakeEnvironment("pendulum", {.step_ms = 2});
  ASSERT_TRUE(usual.ok() && slow.ok());
  (*usual)->Reset(5);
  (*slow)->Reset(5);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Turn(**slow, 1).reward, Turn(**usual, 1).reward);
  }
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(10));
  EXPECT_FALSE(MakeEnvironment("pendulum", {.step_ms = -1}).ok());
}

TEST(Environments, RecallTakesTheNumberOfItsDistractors) {
  auto made = MakeEnvironment("recall", {.distractors = 3});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->spaces().ToText(), "observation categories 9\naction discrete 4\n");
  int steps = 1;
  while (!(*made)->Step(0).terminated) ++steps;
  EXPECT_EQ(steps, 5);
  const auto refused = MakeEnvironment("recall", {.distractors = -1});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().message(), "recall: distractors is -1, expected 0 to 100000");
  EXPECT_TRUE(MakeEnvironment("cartpole", {.distractors = -1}).ok());  // it has none
}

}  // namespace
}  // namespace murmurate
