// What an agent does without weights, what it may wait for, and groups of agents.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <thread>

#include "client/agent_core.h"
#include "tests/client/interrupter.h"
#include "tests/client/workbench.h"

namespace murmurate {
namespace {

TEST(AgentCore, BeforeWeightsItPlaysAtRandomAndIsRecordedAsVersionZero) {
  Workbench bench(64);
  std::array<int, 4> seen{};
  for (int step = 0; step < 60; ++step) ++seen[bench.Act(step)];
  for (const int count : seen) EXPECT_GT(count, 2);
  bench.Publish(1);
  bench.Act(60);
  const auto received = bench.Take();
  ASSERT_NE(received.block, nullptr) << "weights end the random trajectory";
  EXPECT_EQ(received.view.steps, 60);
  EXPECT_EQ(received.view.version, 0u);
  for (const float log_prob : received.view.log_prob) EXPECT_FLOAT_EQ(log_prob, std::log(0.25f));
}

TEST(AgentCore, WithADefaultActionNothingIsRecordedBeforeWeights) {
  Workbench bench(2, {.without_policy = WithoutPolicy::kDefault});
  for (int step = 0; step < 6; ++step) EXPECT_EQ(bench.Act(step), 0);
  EXPECT_EQ(bench.Take().block, nullptr);
  EXPECT_EQ(bench.model->started.load(), 0);
  bench.Publish(1);
  for (int step = 6; step < 9; ++step) bench.Act(step);
  const auto received = bench.Take();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.first_step, 6u);
}

TEST(AgentCore, CreditPaceWaitsAtTheFirstStepOnlyAndGoesOnWhenCreditComes) {
  Workbench bench(4, {.pace = Pace::kCredit});
  bench.Publish(1);
  bench.model->steps_total.store(4);
  bench.model->live.store(true);
  std::atomic<int> played{0};
  std::thread game([&] {
    for (int step = 0; step < 9; ++step) bench.Act(step), ++played;
  });
  EXPECT_TRUE(Soon([&] { return played.load() == 4; }));
  EXPECT_TRUE(Soon([&] { return bench.model->waiting.load() == 1; }));
  EXPECT_EQ(played.load(), 4);
  bench.model->steps_total.store(8);
  bench.model->Progress();
  EXPECT_TRUE(Soon([&] { return played.load() == 8; }));
  bench.model->live.store(false);  // the learner is lost: play on
  bench.model->Progress();
  EXPECT_TRUE(Soon([&] { return played.load() == 9; }));
  game.join();
}

TEST(AgentCore, LockstepWaitsForTheVersionItsCreditIsFor) {
  Workbench bench(2, {.pace = Pace::kLockstep});
  bench.Publish(1);
  bench.model->steps_total.store(2);
  bench.model->at_version.store(1);
  bench.model->live.store(true);
  std::atomic<int> played{0};
  std::thread game([&] {
    for (int step = 0; step < 3; ++step) bench.Act(step), ++played;
  });
  EXPECT_TRUE(Soon([&] { return played.load() == 2; }));
  bench.model->at_version.store(2);
  bench.model->steps_total.store(4);
  bench.model->Progress();
  EXPECT_TRUE(Soon([&] { return bench.model->waiting.load() == 1; }));
  EXPECT_EQ(played.load(), 2) << "credit alone is not enough";
  bench.Publish(2);
  EXPECT_TRUE(Soon([&] { return played.load() == 3; }));
  game.join();
  bench.agent->Close();
  EXPECT_EQ(bench.Take().view.version, 1u);
}

TEST(AgentCore, CreditForAVersionIsNotSpentUnderAnOlderOneAndTheWaitIsCounted) {
  Workbench bench(2, {.pace = Pace::kCredit});
  bench.Publish(1);
  bench.model->steps_total.store(2);
  bench.model->at_version.store(2);
  bench.model->live.store(true);
  std::atomic<bool> played{false};
  std::thread game([&] { bench.Act(0), played = true; });
  EXPECT_TRUE(Soon([&] { return bench.model->waited_ns.load() > 0; }));
  EXPECT_FALSE(played.load());
  bench.Publish(2);
  EXPECT_TRUE(Soon([&] { return played.load(); }));
  game.join();
  EXPECT_GE(bench.model->waited_ns.load(), 1);
}

TEST(AgentCore, WaitingForAVersionThatCannotBePlayedEnds) {
  Workbench bench(2, {.pace = Pace::kLockstep});
  bench.Publish(1);
  bench.model->steps_total.store(2);
  bench.model->at_version.store(2);
  bench.model->live.store(true);
  std::atomic<bool> played{false};
  std::thread game([&] { bench.Act(0), played = true; });
  EXPECT_TRUE(Soon([&] { return bench.model->waiting.load() == 1; }));
  bench.model->set_unplayable(2, "epsilon is 7");
  EXPECT_TRUE(Soon([&] { return played.load(); }));
  game.join();
}

TEST(AgentCore, WaitingForWeightsEndsWhenTheyComeOrTheClientCloses) {
  for (const bool weights : {true, false}) {
    Workbench bench(0, {.without_policy = WithoutPolicy::kWait});
    std::atomic<bool> played{false};
    std::thread game([&] { bench.Act(0), played = true; });
    EXPECT_TRUE(Soon([&] { return bench.model->waiting.load() == 1; }));
    EXPECT_FALSE(played.load());
    if (weights) {
      bench.Fit();
      bench.Publish(1);
    } else {
      bench.bell->closed.store(true);
      bench.model->Progress();
    }
    EXPECT_TRUE(Soon([&] { return played.load(); }));
    game.join();
  }
}

TEST(AgentCore, AGroupPlaysAsItsAgentsWouldAlone) {
  Workbench bench(4);
  bench.Publish(2);
  std::vector<std::unique_ptr<BenchAgent>> agents;
  std::vector<AgentCore*> group;
  std::vector<std::shared_ptr<TrajectoryRing>> rings;
  for (int i = 0; i < 5; ++i) {
    agents.push_back(std::make_unique<BenchAgent>(bench.model, i, 0, i == 0 ? 5 : 1));
    group.push_back(agents.back().get());
    auto gear = GearOf(bench.policies, agents.back()->rows(), 4);
    rings.push_back(gear->ring);
    agents.back()->Fit(std::move(gear));
  }
  std::vector<std::int32_t> actions(5), first_actions;
  for (int step = 0; step < 5; ++step) {
    std::vector<float> observations;
    for (int i = 0; i < 5; ++i) {
      const auto row = bench.Observation(10 * step + i);
      observations.insert(observations.end(), row.begin(), row.end());
    }
    ActTogether(group, observations, actions);
    if (step == 0) first_actions = actions;
  }
  const AlignedFloats parameters = SomeParameters(bench.spec, 2);
  for (int i = 0; i < 5; ++i) {
    bench.ring = rings[i];
    const auto received = bench.Take();
    ASSERT_NE(received.block, nullptr) << i;
    EXPECT_EQ(received.view.action[0], first_actions[i]);
    for (int t = 0; t < 4; ++t) {
      EXPECT_NEAR(received.view.log_prob[t],
                  LogProbabilities(bench.spec, parameters,
                                   bench.Observation(10 * t + i))[received.view.action[t]],
                  2e-5);
    }
  }
}

TEST(AgentCore, AGroupThatWaitsForCreditHoldsNoVersion) {
  Workbench bench(4, {.pace = Pace::kCredit});
  std::vector<std::unique_ptr<BenchAgent>> agents;
  std::vector<AgentCore*> group;
  for (int i = 0; i < 3; ++i) {
    agents.push_back(std::make_unique<BenchAgent>(bench.model, i, 0, 3));
    agents.back()->Fit(GearOf(bench.policies, 3, 4));
    if (i < 2) group.push_back(agents.back().get());
  }
  bench.Publish(1);
  agents[0]->Act(bench.Observation(0));  // not live: free to begin
  bench.Publish(2);
  agents[2]->Act(bench.Observation(0));
  bench.Publish(3);
  bench.model->live.store(true);  // the second of the group may not begin
  std::atomic<bool> acted{false};
  std::thread game([&] {
    std::vector<std::int32_t> actions(2);
    ActTogether(group, std::vector<float>(6), actions);
    acted = true;
  });
  EXPECT_TRUE(Soon([&] { return bench.model->waiting.load() == 1; }));
  std::atomic<bool> published{false};
  std::thread weights([&] { bench.Publish(4), published = true; });  // takes the first one's buffer
  EXPECT_TRUE(Soon([&] { return published.load(); }));
  bench.model->live.store(false);
  bench.model->Progress();
  weights.join();
  game.join();
  EXPECT_TRUE(acted.load());
}

TEST(ClientModel, WhatChangesWhileAnAgentLooksIsNotSleptThrough) {
  Workbench bench(0);
  int looks = 0;
  bench.model->WaitFor([&](bool timed_out) {
    EXPECT_FALSE(timed_out) << "it slept to the end";
    if (looks++ > 0) return true;
    bench.model->Progress();  // what it waits for comes when it has just seen that it is not there
    return false;
  });
  EXPECT_EQ(looks, 2);
}

TEST(ClientModel, CreditIsNotSpentTwice) {
  Workbench bench(0);
  bench.model->steps_total.store(100'000'000);
  std::uint64_t mine = 0, theirs = 0;
  std::thread other([&] {
    while (bench.model->Reserve(5)) ++theirs;
  });
  {
    const Interrupter interrupter(other.native_handle());
    while (bench.model->Reserve(5)) ++mine;
  }
  other.join();
  EXPECT_EQ(mine + theirs, 20'000'000u);
}

}  // namespace
}  // namespace murmurate
