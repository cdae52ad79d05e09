// The previous action and reward as an agent plays with them and records them.
#include "shared/model/previous_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>

#include "tests/client/mixed_game.h"
#include "tests/client/workbench.h"

namespace murmurate {
namespace {

using testing::ElementsAre;

/// Three numbers, one of four choices, a memory.
ModelSpec RecallingSpec() {
  PolicyAndValue spec = SmallSpec();
  spec.trunk = {*Layer::Parse("lstm 8")};
  spec.separate_value = false;
  spec.previous = {.action = true, .reward = true};
  return spec;
}

/// The category and the reward behind the three numbers of row t.
struct Previous {
  std::int32_t action;
  float reward;
  friend bool operator==(const Previous&, const Previous&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Previous& p) {
    return out << p.action << " " << p.reward;
  }
};

Previous PreviousIn(std::span<const std::byte> rows, int t = 0) {
  Previous previous;
  const std::byte* const row = rows.data() + t * 20 + 12;
  std::memcpy(&previous.action, row, 4);
  std::memcpy(&previous.reward, row + 4, 4);
  return previous;
}

/// The log-probabilities are those of the policy with these rows as its inputs.
void ExpectPlayedWithItsRows(const Workbench& bench, const TrajectoryView& view) {
  Policy policy(bench.spec);
  PackVersion(bench.spec, view.version, &policy);
  const ActionHead head{ActionLayout(bench.spec.spaces.action)};
  AlignedFloats scratch(policy.ScratchFloats(1)), row(5);
  std::vector<float> state(view.state0.begin(), view.state0.end());
  std::vector<float> outputs(static_cast<std::size_t>(policy.outputs()));
  for (int t = 0; t < view.steps; ++t) {
    if (view.flags[t] & kFirst) std::ranges::fill(state, 0.0f);
    std::memcpy(row.data(), view.observation.data() + t * 20, 20);
    policy.Forward(row.data(), 1, outputs.data(), scratch.data(), state.data());
    EXPECT_NEAR(view.log_prob[t],
                head.LogProbability({outputs.data(), nullptr, nullptr}, {}, &view.action[t]), 2e-5)
        << t;
  }
}

TEST(PreviousStepOfAgent, EachStepSeesTheLastActionAndWhatItWasRewardedWith) {
  Workbench bench(4, {}, RecallingSpec());
  bench.Publish(1);
  std::vector<std::int32_t> actions;
  std::vector<float> rewards;
  for (int step = 0; step < 13; ++step) {
    actions.push_back(bench.Act(step));
    bench.agent->Reward(step), bench.agent->Reward(0.5);
    rewards.push_back(ReducedReward(static_cast<float>(step) + 0.5f));
  }
  for (int part = 0; part < 3; ++part) {
    const auto received = bench.PopTrajectory();
    ASSERT_NE(received.block, nullptr);
    const auto expected = [&](int step) {
      return step == 0 ? Previous{0, 0} : Previous{actions[step - 1] + 1, rewards[step - 1]};
    };
    for (int t = 0; t < 4; ++t) {
      EXPECT_EQ(PreviousIn(received.view.observation, t), expected(4 * part + t));
      const auto seen = bench.Observation(4 * part + t);
      EXPECT_EQ(std::memcmp(received.view.observation.data() + 20 * t, seen.data(), 12), 0);
    }
    EXPECT_EQ(PreviousIn(received.view.next_observation), expected(4 * part + 4));
    ExpectPlayedWithItsRows(bench, received.view);
    bench.ring->Release(received.block);
  }
}

TEST(PreviousStepOfAgent, AnEpisodeBeginsWithNoneAndAFinalObservationHasTheLast) {
  Workbench bench(16, {}, RecallingSpec());
  bench.Publish(1);
  bench.Act(0), bench.agent->Reward(3);
  bench.agent->End(kTerminated);
  bench.agent->Reward(100);  // after End: ignored
  bench.Act(1), bench.agent->Reward(8);
  const int last = bench.Act(2);
  bench.agent->Reward(-3);
  bench.agent->End(kTruncated, bench.Observation(77));
  bench.Act(3), bench.agent->Discard();
  for (int step = 4; step < 18; ++step) bench.Act(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  const TrajectoryView& view = received.view;
  EXPECT_THAT(view.flags.first(6),
              ElementsAre(kFirst | kTerminatedFlag, kFirst, kTruncatedFlag, kFirst, 0, 0));
  for (const int first : {0, 1, 3}) EXPECT_EQ(PreviousIn(view.observation, first), Previous());
  EXPECT_EQ(PreviousIn(view.observation, 2).reward, 2.0f);
  EXPECT_EQ(PreviousIn(view.final_observation), (Previous{last + 1, -1}));
  ExpectPlayedWithItsRows(bench, view);
}

TEST(PreviousStepOfAgent, WhatTheGameDidInsteadIsThePreviousAction) {
  Workbench bench(4, {}, RecallingSpec());
  bench.Publish(1);
  for (int step = 0; step < 5; ++step) bench.Act(step), bench.agent->Took((step + 2) % 4);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(PreviousIn(received.view.observation, 1).action, 3);
  EXPECT_EQ(PreviousIn(received.view.observation, 2).action, 4);
  EXPECT_EQ(PreviousIn(received.view.observation, 3).action, 1);
  EXPECT_EQ(PreviousIn(received.view.next_observation).action, 2);
}

TEST(PreviousStepOfAgent, AgentsOfAGroupHaveEachItsOwn) {
  constexpr int kAgents = 3;
  Workbench bench(0, {}, RecallingSpec());
  bench.Publish(1);
  std::vector<std::shared_ptr<BenchAgent>> agents;
  std::vector<AgentCore*> cores;
  std::vector<std::shared_ptr<TrajectoryRing>> rings;
  for (int i = 0; i < kAgents; ++i) {
    agents.push_back(std::make_shared<BenchAgent>(bench.model, i, 0, i == 0 ? kAgents : 1));
    auto buffers = BuffersOf(bench.policies, i == 0 ? kAgents : 1, 4);
    rings.push_back(buffers->ring);
    agents.back()->shared().Fit(std::move(buffers));
    cores.push_back(agents.back().get());
  }
  std::vector<std::array<std::int32_t, kAgents>> actions(5);
  for (int step = 0; step < 5; ++step) {
    std::vector<float> observations;
    for (int i = 0; i < kAgents; ++i) {
      const auto own = bench.Observation(10 * i + step);
      observations.insert(observations.end(), own.begin(), own.end());
    }
    ActTogether(cores, observations, actions[step]);
    for (int i = 0; i < kAgents; ++i) agents[i]->Reward(i);
  }
  for (int i = 0; i < kAgents; ++i) {
    bench.ring = rings[i];
    const auto received = bench.PopTrajectory();
    ASSERT_NE(received.block, nullptr);
    for (int t = 1; t < 4; ++t)
      EXPECT_EQ(PreviousIn(received.view.observation, t),
                (Previous{actions[t - 1][i] + 1, ReducedReward(static_cast<float>(i))}));
    ExpectPlayedWithItsRows(bench, received.view);
  }
}

// Frames are stacked, a number is chosen within a box, and the row ends with bytes.
TEST(PreviousStepOfAgent, EverySpaceAndAStackOfFrames) {
  ModelSpec spec = MixedSpec();
  spec.previous = {.action = true, .reward = true};
  ASSERT_TRUE(CheckModel(spec).ok());
  Workbench bench(4, {}, spec);
  bench.Publish(1);
  std::vector<std::int32_t> played;
  for (int k = 0; k < 9; ++k) {
    bench.agent->Play(Scene(k).Show());
    const std::span<const std::int32_t> words = bench.agent->action().words();
    played.insert(played.end(), words.begin(), words.end());
    bench.agent->Reward(3);
  }
  const TrajectoryLayout layout(spec, 4);
  ASSERT_EQ(layout.row_bytes(), 4u + 4u + 8u + 4u + 4u + 4u);
  for (int part = 0; part < 2; ++part) {
    const auto received = bench.PopTrajectory();
    ASSERT_NE(received.block, nullptr);
    for (int t = part == 0 ? 1 : 0; t < 4; ++t) {
      struct {
        float place;
        std::int32_t kind, weapon[2];
        float turn, reward;
        std::uint8_t camera[4];
      } row;
      std::memcpy(&row, received.view.observation.data() + t * sizeof row, sizeof row);
      const std::int32_t* const last = &played[3 * static_cast<std::size_t>(4 * part + t - 1)];
      const Scene scene(4 * part + t);
      EXPECT_EQ(row.place, scene.place[0]);
      EXPECT_EQ(row.kind, scene.kind[0]);
      EXPECT_THAT(row.weapon, ElementsAre(last[0] + 1, last[1] + 1));
      EXPECT_EQ(row.turn, std::clamp(std::bit_cast<float>(last[2]), -1.0f, 1.0f));
      EXPECT_EQ(row.reward, 1.0f);
      EXPECT_EQ(std::memcmp(row.camera, scene.camera.data(), 4), 0);
    }
    bench.ring->Release(received.block);
  }
}

}  // namespace
}  // namespace murmurate
