// What only the learner sees, from a C program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "tests/client/c_abi/stage.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

ModelSpec PrivilegedSpec() {
  PolicyAndValue spec = SmallSpec();
  spec.spaces.privileged = Box({2});
  return spec;
}

/// The spaces of PrivilegedSpec for NewAgent.
struct PrivilegedOptions {
  PrivilegedOptions() {
    options.size = sizeof options;
    options.observation = &see;
    options.action = &act;
    options.privileged = &privileged;
  }
  mmr_space see = mmr_box(3), act = mmr_discrete(4), privileged = mmr_box(2);
  mmr_agent_options options{};
};

/// Two numbers of a space without parts.
struct Shown {
  explicit Shown(float one, float other) : numbers{one, other} {
    input.size = sizeof input;
    input.element = MMR_FLOAT32;
    input.values = numbers;
    input.count = 2;
    observation.size = sizeof observation;
    observation.inputs = &input;
    observation.input_count = 1;
  }
  Shown(const Shown& other) : Shown(other.numbers[0], other.numbers[1]) {}
  float numbers[2];
  mmr_input input{};
  mmr_observation observation{};
};

/// The row has the numbers {agent, step, 0} and behind them {10 x agent, step}.
void ExpectTold(const TrajectoryView& view) {
  for (int t = 0; t < view.steps; ++t) {
    float row[5];
    std::memcpy(row, view.observation.data() + static_cast<std::size_t>(t) * sizeof row,
                sizeof row);
    EXPECT_EQ(row[3], 10 * row[0]);
    EXPECT_EQ(row[4], row[1]);
  }
}

TEST(CPrivileged, EachStepArrivesWithWhatWasShownBeforeIt) {
  Stage stage({.trajectory_length = 4, .model = PrivilegedSpec()});
  PrivilegedOptions options;
  mmr_agent* agent = mmr_agent_new(stage.client, &options.options);
  ASSERT_NE(agent, nullptr) << mmr_last_error();
  stage.Begin();
  int step = 0;
  const auto play = [&] {
    const Shown shown(10, static_cast<float>(step));
    const float seen[] = {1, static_cast<float>(step), 0};
    ASSERT_EQ(step % 2 == 0 ? mmr_privileged(agent, shown.numbers, 2)
                            : mmr_privileged_any(agent, &shown.observation),
              MMR_OK)
        << mmr_last_error();
    ASSERT_GE(mmr_act(agent, seen, 3), 0) << mmr_last_error();
    ++step;
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(play, [&] { return stage.learner.received.size() >= 20; }));
  for (const auto& one : stage.learner.received) ExpectTold(one->view);
  mmr_agent_close(agent);
}

TEST(CPrivileged, AgentsOfAGroupAreToldEachItsOwn) {
  Stage stage({.trajectory_length = 4, .model = PrivilegedSpec()});
  PrivilegedOptions options;
  mmr_group* group = mmr_group_new(stage.client, &options.options, 2);
  ASSERT_NE(group, nullptr) << mmr_last_error();
  stage.Begin();
  int step = 0;
  const auto play = [&] {
    const auto now = static_cast<float>(step);
    const Shown shown[] = {Shown(0, now), Shown(10, now)};
    const mmr_observation both[] = {shown[0].observation, shown[1].observation};
    const float seen[] = {0, now, 0, 1, now, 0};
    std::int32_t actions[2];
    ASSERT_EQ(mmr_group_privileged(group, both, nullptr, 2), MMR_OK) << mmr_last_error();
    ASSERT_EQ(mmr_group_act(group, seen, 3, actions, 2, nullptr, 0), MMR_OK) << mmr_last_error();
    ++step;
    stage.learner.PollOnce(0);
  };
  ASSERT_TRUE(Until(play, [&] { return stage.learner.received.size() >= 20; }));
  for (const auto& one : stage.learner.received) ExpectTold(one->view);
  mmr_group_close(group);
}

TEST(CPrivileged, WhatTheSpacesDoNotHaveIsRefusedAndChangesNothing) {
  Stage stage({.trajectory_length = 4, .model = PrivilegedSpec()});
  PrivilegedOptions options;
  mmr_group* group = mmr_group_new(stage.client, &options.options, 2);
  ASSERT_NE(group, nullptr) << mmr_last_error();
  mmr_agent* agent = mmr_group_agent(group, 0);
  const Shown shown(1, 2);
  EXPECT_EQ(mmr_privileged(agent, shown.numbers, 1), MMR_INVALID_ARGUMENT);
  EXPECT_THAT(mmr_last_error(), HasSubstr("privileged has 2 float in its space"));
  EXPECT_EQ(mmr_privileged(agent, nullptr, 2), MMR_INVALID_ARGUMENT);
  EXPECT_EQ(mmr_privileged_any(agent, nullptr), MMR_INVALID_ARGUMENT);
  mmr_observation masked = shown.observation;
  const std::uint8_t allowed[4] = {1, 1, 1, 1};
  masked.allowed = allowed;
  masked.allowed_count = 4;
  EXPECT_EQ(mmr_privileged_any(agent, &masked), MMR_INVALID_ARGUMENT);
  EXPECT_THAT(mmr_last_error(), HasSubstr("has no mask"));
  EXPECT_EQ(mmr_group_privileged(group, &shown.observation, nullptr, 1), MMR_INVALID_ARGUMENT);
  EXPECT_EQ(mmr_group_privileged(group, nullptr, nullptr, 2), MMR_INVALID_ARGUMENT);
  mmr_group_close(group);

  options.privileged = mmr_discrete(1);
  EXPECT_EQ(mmr_agent_new(stage.client, &options.options), nullptr);
  EXPECT_THAT(mmr_last_error(), HasSubstr("privileged"));
  options.options.privileged = nullptr;
  options.options.model = "plain";
  mmr_agent* plain = mmr_agent_new(stage.client, &options.options);
  ASSERT_NE(plain, nullptr) << mmr_last_error();
  EXPECT_EQ(mmr_privileged(plain, shown.numbers, 2), MMR_INVALID_ARGUMENT);
  EXPECT_THAT(mmr_last_error(), HasSubstr("state its space in AgentOptions::privileged"));
  mmr_agent_close(plain);
}

}  // namespace
}  // namespace murmurate
