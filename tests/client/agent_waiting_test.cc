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
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr) << "weights end the random trajectory";
  EXPECT_EQ(received.view.steps, 60);
  EXPECT_EQ(received.view.version, 0u);
  for (const float log_prob : received.view.log_prob) EXPECT_FLOAT_EQ(log_prob, std::log(0.25f));
}

TEST(AgentCore, WithADefaultActionNothingIsRecordedBeforeWeights) {
  Workbench bench(2, {.without_policy = WithoutPolicy::kDefault});
  for (int step = 0; step < 6; ++step) EXPECT_EQ(bench.Act(step), 0);
  EXPECT_EQ(bench.PopTrajectory().block, nullptr);
  EXPECT_EQ(bench.model->credit.begun(), 0);
  bench.Publish(1);
  for (int step = 6; step < 9; ++step) bench.Act(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.first_step, 6u);
}

TEST(AgentCore, CreditPaceWaitsAtTheFirstStepOnlyAndGoesOnWhenCreditComes) {
  Workbench bench(4, {.pace = Pace::kCredit});
  bench.Publish(1);
  bench.model->credit.Grant(4);
  bench.model->live.store(true);
  std::atomic<int> played{0};
  std::thread game([&] {
    for (int step = 0; step < 9; ++step) bench.Act(step), ++played;
  });
  EXPECT_TRUE(Soon([&] { return played.load() == 4; }));
  EXPECT_TRUE(Soon([&] { return bench.model->wait.waiting() == 1; }));
  EXPECT_EQ(played.load(), 4);
  bench.model->credit.Grant(8);
  bench.model->wait.Progress();
  EXPECT_TRUE(Soon([&] { return played.load() == 8; }));
  bench.model->live.store(false);  // the learner is lost: play on
  bench.model->wait.Progress();
  EXPECT_TRUE(Soon([&] { return played.load() == 9; }));
  game.join();
}

TEST(AgentCore, LockstepWaitsForTheVersionItsCreditIsFor) {
  Workbench bench(2, {.pace = Pace::kLockstep});
  bench.Publish(1);
  bench.model->credit.Grant(2);
  bench.model->at_version.store(1);
  bench.model->live.store(true);
  std::atomic<int> played{0};
  std::thread game([&] {
    for (int step = 0; step < 3; ++step) bench.Act(step), ++played;
  });
  EXPECT_TRUE(Soon([&] { return played.load() == 2; }));
  bench.model->at_version.store(2);
  bench.model->credit.Grant(4);
  bench.model->wait.Progress();
  EXPECT_TRUE(Soon([&] { return bench.model->wait.waiting() == 1; }));
  EXPECT_EQ(played.load(), 2) << "credit alone is not enough";
  bench.Publish(2);
  EXPECT_TRUE(Soon([&] { return played.load() == 3; }));
  game.join();
  bench.agent->Close();
  EXPECT_EQ(bench.PopTrajectory().view.version, 1u);
}

TEST(AgentCore, CreditForAVersionIsNotSpentUnderAnOlderOneAndTheWaitIsCounted) {
  Workbench bench(2, {.pace = Pace::kCredit});
  bench.Publish(1);
  bench.model->credit.Grant(2);
  bench.model->at_version.store(2);
  bench.model->live.store(true);
  std::atomic<bool> played{false};
  std::thread game([&] { bench.Act(0), played = true; });
  EXPECT_TRUE(Soon([&] { return bench.model->wait.waited_ns() > 0; }));
  EXPECT_FALSE(played.load());
  bench.Publish(2);
  EXPECT_TRUE(Soon([&] { return played.load(); }));
  game.join();
  EXPECT_GE(bench.model->wait.waited_ns(), 1);
}

TEST(AgentCore, WaitingForAVersionThatCannotBePlayedEnds) {
  Workbench bench(2, {.pace = Pace::kLockstep});
  bench.Publish(1);
  bench.model->credit.Grant(2);
  bench.model->at_version.store(2);
  bench.model->live.store(true);
  std::atomic<bool> played{false};
  std::thread game([&] { bench.Act(0), played = true; });
  EXPECT_TRUE(Soon([&] { return bench.model->wait.waiting() == 1; }));
  bench.model->weights.SetUnplayable(2, "epsilon is 7");
  EXPECT_TRUE(Soon([&] { return played.load(); }));
  game.join();
}

TEST(AgentCore, WaitingForWeightsEndsWhenTheyComeOrTheClientCloses) {
  for (const bool weights : {true, false}) {
    Workbench bench(0, {.without_policy = WithoutPolicy::kWait});
    std::atomic<bool> played{false};
    std::thread game([&] { bench.Act(0), played = true; });
    EXPECT_TRUE(Soon([&] { return bench.model->wait.waiting() == 1; }));
    EXPECT_FALSE(played.load());
    if (weights) {
      bench.Fit();
      bench.Publish(1);
    } else {
      bench.wakeup->closed.store(true);
      bench.model->wait.Progress();
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
    auto buffers = BuffersOf(bench.policies, agents.back()->shared().rows(), 4);
    rings.push_back(buffers->ring);
    agents.back()->shared().Fit(std::move(buffers));
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
    const auto received = bench.PopTrajectory();
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
    agents.back()->shared().Fit(BuffersOf(bench.policies, 3, 4));
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
  EXPECT_TRUE(Soon([&] { return bench.model->wait.waiting() == 1; }));
  std::atomic<bool> published{false};
  std::thread weights([&] { bench.Publish(4), published = true; });  // takes the first one's buffer
  EXPECT_TRUE(Soon([&] { return published.load(); }));
  bench.model->live.store(false);
  bench.model->wait.Progress();
  weights.join();
  game.join();
  EXPECT_TRUE(acted.load());
}

/// Agents of one thread, under a version that credit of `trajectories` is for.
struct Thread {
  Thread(Pace pace, int agents, int trajectories, int length) : bench(length, {.pace = pace}) {
    for (int i = 0; i < agents; ++i) {
      all.push_back(std::make_unique<BenchAgent>(bench.model, i, 0, i == 0 ? agents : 1));
      auto buffers = BuffersOf(bench.policies, all.back()->shared().rows(), length);
      rings.push_back(buffers->ring);
      all.back()->shared().Fit(std::move(buffers));
      group.push_back(all.back().get());
    }
    bench.Publish(1);
    Grant(trajectories * length, 1);
    bench.model->live.store(true);
  }
  void Grant(int steps, std::uint64_t version) {
    bench.model->credit.Grant(static_cast<std::uint64_t>(steps));
    bench.model->at_version.store(version);
    bench.model->wait.Progress();
  }
  void ActTogetherOnce() {
    std::vector<std::int32_t> actions(group.size());
    ActTogether(group, std::vector<float>(3 * group.size(), 0.5f), actions);
    for (BenchAgent* agent : Agents()) agent->Reward(1);
  }
  std::vector<BenchAgent*> Agents() const {
    std::vector<BenchAgent*> agents;
    for (const auto& agent : all) agents.push_back(agent.get());
    return agents;
  }
  bool Ready(std::size_t agent) const { return rings[agent]->HasReady(); }

  Workbench bench;
  std::vector<std::unique_ptr<BenchAgent>> all;
  std::vector<std::shared_ptr<TrajectoryRing>> rings;
  std::vector<AgentCore*> group;
};

TEST(AgentCore, InLockstepOneOfAGroupThatLeftEarlyPlaysOnUnrecordedUntilTheOthersHaveFinished) {
  // T / 8 = 1 final observation: its first truncation uses it up, and it hands over one step.
  Thread thread(Pace::kLockstep, 2, 2, 8);
  thread.ActTogetherOnce();
  thread.all[0]->End(kTruncated, std::vector<float>(3));
  ASSERT_TRUE(thread.Ready(0));
  std::atomic<int> played{1};
  std::thread game([&] {
    for (; played < 9; ++played) thread.ActTogetherOnce();
  });
  EXPECT_TRUE(Soon([&] { return played.load() == 8; })) << played.load() << ": it waits for itself";
  EXPECT_TRUE(Soon([&] { return thread.bench.model->wait.waiting() == 1; }));
  EXPECT_EQ(played.load(), 8) << "all is handed over: now it waits for the next version";
  EXPECT_TRUE(thread.Ready(1));
  EXPECT_EQ(thread.all[0]->shared().counts().steps_dropped.load(), 7u);
  thread.Grant(32, 2);
  thread.bench.Publish(2);
  EXPECT_TRUE(Soon([&] { return played.load() == 9; }));
  game.join();
  EXPECT_EQ(thread.all[0]->shared().counts().steps_dropped.load(), 7u)
      << "the ninth is recorded again";
}

TEST(AgentCore, AgentsOfOneThreadThatAreNoGroupPlayInLockstepForAStepATrajectory) {
  Thread thread(Pace::kLockstep, 2, 2, 4);
  std::atomic<int> played{0};
  std::thread game([&] {
    for (; played < 5; ++played) {
      for (BenchAgent* agent : thread.Agents()) agent->Act(std::vector<float>(3)), agent->Reward(1);
    }
  });
  EXPECT_TRUE(Soon([&] { return thread.Ready(1); })) << "the first waits for the second";
  EXPECT_TRUE(Soon([&] { return thread.bench.model->wait.waiting() == 1; }));
  EXPECT_TRUE(thread.Ready(0));
  thread.Grant(16, 2);
  thread.bench.Publish(2);
  EXPECT_TRUE(Soon([&] { return played.load() == 5; }));
  game.join();
  EXPECT_EQ(thread.all[0]->shared().counts().steps_dropped.load(), 1u);
  EXPECT_EQ(thread.all[1]->shared().counts().steps_dropped.load(), 0u);
}

TEST(AgentCore, WithLessCreditForAVersionThanAgentsTheOthersOfTheThreadPlayUnrecorded) {
  Thread thread(Pace::kCredit, 3, 1, 4);  // staleness "block": a batch of one trajectory
  std::atomic<int> played{0};
  std::thread game([&] {
    for (; played < 5; ++played) thread.ActTogetherOnce();
  });
  EXPECT_TRUE(Soon([&] { return thread.Ready(0); })) << "it waits for itself";
  EXPECT_TRUE(Soon([&] { return thread.bench.model->wait.waiting() == 1; }));
  EXPECT_EQ(played.load(), 4);
  EXPECT_EQ(thread.all[1]->shared().counts().steps_dropped.load(), 4u);
  thread.Grant(8, 2);
  thread.bench.Publish(2);
  EXPECT_TRUE(Soon([&] { return played.load() == 5; }));
  game.join();
}

/// One waits for credit, the other is in the middle of its trajectory: a call that gives up has
/// changed nothing of it.
TEST(AgentCore, AWaitThatIsLimitedLeavesTheRewardsOfAGroupAsTheyAre) {
  Thread thread(Pace::kCredit, 2, 2, 4);
  thread.bench.model->at_version.store(0);
  thread.bench.model->wakeup->max_wait_ns.store(20 * kNanosecondsPerMillisecond);
  thread.all[0]->Act(std::vector<float>(3));
  thread.all[0]->Reward(1);
  for (int i = 0; i < 3; ++i) thread.ActTogetherOnce();
  const std::vector<float> sees(3);
  for (int i = 0; i < 2; ++i) {
    for (BenchAgent* agent : thread.Agents())
      agent->observation().Observe(std::span<const float>(sees));
    EXPECT_FALSE(AgentCore::StepTogether(thread.group));
  }
  thread.Grant(16, 0);
  for (int i = 0; i < 2; ++i) thread.ActTogetherOnce();
  TrajectoryBlock* const block = thread.rings[1]->PopReady();
  ASSERT_NE(block, nullptr);
  const float* rewards = thread.rings[1]->ColumnOf<float>(block, Column::kReward);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(rewards[i], 1) << i;
  thread.rings[1]->Release(block);
}

TEST(ClientModel, WhatChangesWhileAnAgentLooksIsNotSleptThrough) {
  ModelWait wait;
  const std::atomic<std::int64_t> no_limit{0};
  int looks = 0;
  const std::int64_t before_ns = MonotonicNs();
  const auto look = [&] {
    if (looks++ > 0) return true;
    wait.Progress();  // what it waits for comes when it has just seen that it is not there
    return false;
  };
  EXPECT_TRUE(wait.Until(look, no_limit));
  EXPECT_EQ(looks, 2);
  EXPECT_LT(MonotonicNs() - before_ns, ModelWait::kLookAgainMs * kNanosecondsPerMillisecond)
      << "it slept to the end";
}

TEST(ClientModel, CreditIsNotSpentTwice) {
  ModelCredit credit;
  credit.Grant(100'000'000);
  std::uint64_t mine = 0, theirs = 0;
  std::thread other([&] {
    while (credit.Reserve(5)) ++theirs;
  });
  {
    const Interrupter interrupter(other.native_handle());
    while (credit.Reserve(5)) ++mine;
  }
  other.join();
  EXPECT_EQ(mine + theirs, 20'000'000u);
}

}  // namespace
}  // namespace murmurate
