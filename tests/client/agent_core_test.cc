#include "client/agent_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/client/workbench.h"

namespace murmurate {
namespace {

using testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(AgentCore, ATrajectoryHoldsWhatWasPlayed) {
  Workbench bench(8);
  bench.Publish(5);
  std::vector<int> actions;
  for (int step = 0; step < 20; ++step) {
    actions.push_back(bench.Act(step));
    for (int i = 0; i < step % 3; ++i) bench.agent->Reward(step + 0.25 * i);
  }
  const AlignedFloats parameters = SomeParameters(bench.spec, 5);
  for (int part = 0; part < 2; ++part) {
    const auto received = bench.PopTrajectory();
    ASSERT_NE(received.block, nullptr);
    const TrajectoryView& view = received.view;
    EXPECT_EQ(view.steps, 8);
    EXPECT_EQ(view.version, 5u);
    EXPECT_EQ(received.block->stamp.incarnation, 7u);
    EXPECT_EQ(view.first_step, 8u * part);
    EXPECT_TRUE(view.episodes.empty());
    for (int t = 0; t < 8; ++t) {
      const int step = 8 * part + t;
      const auto observation = bench.Observation(step);
      EXPECT_TRUE(std::equal(observation.begin(), observation.end(),
                             NumbersOf(view.observation).data() + 3 * t));
      EXPECT_EQ(view.action[t], actions[step]);
      const int calls = step % 3;
      EXPECT_EQ(view.reward[t], calls * step + (calls == 2 ? 0.25f : 0.0f));
      EXPECT_EQ(view.flags[t], step == 0 ? kFirst : 0);
      EXPECT_NEAR(view.log_prob[t],
                  LogProbabilities(bench.spec, parameters, observation)[actions[step]], 2e-5);
    }
    const auto next = bench.Observation(8 * part + 8);
    EXPECT_TRUE(std::equal(next.begin(), next.end(), NumbersOf(view.next_observation).begin()));
    bench.ring->Release(received.block);
  }
  EXPECT_EQ(bench.PopTrajectory().block, nullptr);
}

TEST(AgentCore, TerminatedAndTruncatedAreKeptApart) {
  Workbench bench(16);
  bench.Publish(1);
  bench.Act(0), bench.agent->Reward(1), bench.Act(1), bench.agent->Reward(2);
  bench.agent->End(kTerminated, {});
  bench.Act(2), bench.agent->Reward(3), bench.Act(3), bench.agent->Reward(4);
  bench.agent->End(kTruncated, bench.Observation(77));
  bench.Act(4), bench.agent->Reward(5), bench.Act(5), bench.agent->Reward(6);
  for (int step = 6; step < 16; ++step) bench.Act(step);
  EXPECT_EQ(bench.PopTrajectory().block, nullptr) << "the last reward is not final yet";
  bench.Act(16);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_THAT(received.view.flags.first(7),
              ElementsAre(kFirst, kTerminatedFlag, kFirst, kTruncatedFlag, kFirst, 0, 0));
  EXPECT_THAT(received.view.reward.first(7), ElementsAre(1, 2, 3, 4, 5, 6, 0));
  const auto final = bench.Observation(77);
  EXPECT_THAT(NumbersOf(received.view.final_observation), testing::ElementsAreArray(final));
  ASSERT_EQ(received.view.episodes.size(), 2u);
  EXPECT_EQ(received.view.episodes[0].raw_return, 3.0);
  EXPECT_EQ(received.view.episodes[0].length, 2u);
  EXPECT_EQ(received.view.episodes[0].mode, 0u);
  EXPECT_EQ(received.view.episodes[1].raw_return, 7.0);
}

TEST(AgentCore, AnEpisodeThatEndsOnTheLastStepHandsOverAtOnce) {
  Workbench bench(2);
  bench.Publish(1);
  bench.Act(0), bench.Act(1);
  bench.agent->Reward(4);
  bench.agent->End(kTerminated, {});
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_THAT(received.view.flags, ElementsAre(kFirst, kTerminatedFlag));
  EXPECT_THAT(received.view.reward, ElementsAre(0, 4));
}

TEST(AgentCore, WhenItsFinalsAreUsedUpATrajectoryLeavesShort) {
  Workbench bench(16);  // room for two final observations
  ASSERT_EQ(bench.ring->layout().max_finals, 2);
  bench.Publish(1);
  for (int i = 0; i < 2; ++i) {
    bench.Act(i);
    bench.agent->End(kTruncated, bench.Observation(50 + i));
  }
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.steps, 2);
  EXPECT_EQ(NumbersOf(received.view.final_observation).size(), 6u);
}

TEST(AgentCore, WithNobodyToTakeThemTheOldestIsDroppedAndCountedAndEpisodesSurvive) {
  Workbench bench(4);
  bench.Publish(1);
  // Ten trajectories of two episodes each; eight blocks.
  for (int step = 0; step < 40; ++step) {
    bench.Act(step);
    bench.agent->Reward(step);
    if (step % 2 == 1) bench.agent->End(kTerminated, {});
  }
  EXPECT_EQ(bench.agent->shared().counts().trajectories_dropped.load(), 2u);
  EXPECT_EQ(bench.agent->shared().counts().steps_dropped.load(), 8u);
  std::vector<double> returns;
  std::vector<std::uint64_t> first_steps;
  for (auto received = bench.PopTrajectory(); received.block != nullptr;
       received = bench.PopTrajectory()) {
    first_steps.push_back(received.view.first_step);
    for (const EpisodeRecord& episode : received.view.episodes)
      returns.push_back(episode.raw_return);
    bench.ring->Release(received.block);
  }
  EXPECT_THAT(first_steps, ElementsAre(8, 12, 16, 20, 24, 28, 32, 36));
  std::sort(returns.begin(), returns.end());
  std::vector<double> expected;
  for (int i = 0; i < 20; ++i) expected.push_back(4 * i + 1);
  EXPECT_EQ(returns, expected);
  EXPECT_EQ(bench.model->credit.begun(), 8) << "two of ten gave their credit back";
}

TEST(AgentCore, WithEveryBlockInTheSocketItPlaysOnUnrecorded) {
  Workbench bench(2);
  bench.Publish(1);
  std::vector<TrajectoryBlock*> sending;
  for (int i = 0; i < TrajectoryRing::kBlocks; ++i) {
    bench.ring->HandOver(bench.ring->AcquireFree());
    sending.push_back(bench.ring->PopReady());
  }
  for (int step = 0; step < 5; ++step) bench.Act(step);
  EXPECT_EQ(bench.agent->shared().counts().steps.load(), 5u);
  EXPECT_EQ(bench.agent->shared().counts().steps_dropped.load(), 5u);
  EXPECT_EQ(bench.model->credit.begun(), 0);
  for (TrajectoryBlock* block : sending) bench.ring->Release(block);
  for (int step = 5; step < 8; ++step) bench.Act(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.first_step, 5u);
  EXPECT_EQ(received.view.flags[0], 0) << "the episode began earlier";
}

TEST(AgentCore, OnlyALostBufferCutsATrajectory) {
  Workbench bench(8);
  BenchAgent other(bench.model, 1, 0, 1);
  other.shared().Fit(BuffersOf(bench.policies, 1, 8));
  bench.Publish(1);
  bench.Act(0), bench.Act(1);
  bench.Publish(2);
  other.Act(bench.Observation(0));
  bench.Act(2);
  bench.Publish(3);
  bench.Act(3);
  EXPECT_EQ(bench.PopTrajectory().block, nullptr) << "version 1 is still there";
  bench.Publish(4);  // 3 is the latest, 2 and 1 are played: the oldest is replaced
  bench.Act(4);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.steps, 4);
  EXPECT_EQ(received.view.version, 1u);
  const auto next = bench.Observation(4);
  EXPECT_TRUE(
      std::equal(next.begin(), next.end(), NumbersOf(received.view.next_observation).begin()));
  for (int step = 5; step < 13; ++step) bench.Act(step);
  const auto after = bench.PopTrajectory();
  ASSERT_NE(after.block, nullptr);
  EXPECT_EQ(after.view.version, 4u);
  EXPECT_EQ(after.view.first_step, 4u);
}

std::vector<std::uint64_t> VersionsOf(const TrajectoryView& view) {
  std::vector<std::uint64_t> versions;
  for (int step = 0; step < view.steps; ++step) versions.push_back(VersionAt(view, step));
  return versions;
}

TEST(AgentCore, ATrajectoryGoesOnUnderEachNewerVersionWhereTheLearnerLetsIt) {
  Workbench bench(8);
  bench.model->changes_version = true;
  bench.Publish(1);
  bench.Act(0), bench.Act(1);
  bench.Publish(2);
  bench.Act(2);
  bench.Publish(3), bench.Publish(4), bench.Publish(5);  // no buffer of version 2 is left
  for (int step = 3; step < 8; ++step) bench.Act(step);
  EXPECT_EQ(bench.PopTrajectory().block, nullptr) << "nothing cut it";
  bench.Act(8);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  ASSERT_EQ(VersionsOf(received.view), (std::vector<std::uint64_t>{1, 1, 2, 5, 5, 5, 5, 5}));
  for (int step = 0; step < 8; ++step) {
    const auto parameters = SomeParameters(bench.spec, VersionsOf(received.view)[step]);
    const auto expected = LogProbabilities(bench.spec, parameters, bench.Observation(step));
    EXPECT_NEAR(received.view.log_prob[step], expected[received.view.action[step]], 2e-5) << step;
  }
}

TEST(AgentCore, AgentsOfAGroupGoOnUnderNewerVersionsTogether) {
  Workbench bench(4);
  bench.model->changes_version = true;
  BenchAgent other(bench.model, 1, 0, 1);
  auto buffers = BuffersOf(bench.policies, 1, 4);
  const auto ring = buffers->ring;
  other.shared().Fit(std::move(buffers));
  AgentCore* const agents[] = {bench.agent.get(), &other};
  for (int step = 0; step < 5; ++step) {
    bench.Publish(static_cast<std::uint64_t>(step) + 1);
    auto observations = bench.Observation(step);
    const auto again = observations;
    observations.insert(observations.end(), again.begin(), again.end());
    std::int32_t actions[2];
    ActTogether(agents, observations, actions);
  }
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(VersionsOf(received.view), (std::vector<std::uint64_t>{1, 2, 3, 4}));
  const TrajectoryBlock* block = ring->PopReady();
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(block->changes.later(), 3u);
}

TEST(AgentCore, MoreVersionsThanATrajectoryCanNameCutIt) {
  Workbench bench(64);
  bench.model->changes_version = true;
  for (int step = 0; step < 40; ++step) {
    bench.Publish(static_cast<std::uint64_t>(step) + 1);
    bench.Act(step);
  }
  std::uint64_t expected = 0;
  for (auto received = bench.PopTrajectory(); received.block != nullptr;
       received = bench.PopTrajectory()) {
    EXPECT_EQ(received.view.first_step, expected);
    EXPECT_GE(received.view.steps, 16);
    expected += static_cast<std::uint64_t>(received.view.steps);
    EXPECT_GE(VersionsOf(received.view).back(), received.view.version + 15);
  }
  EXPECT_GE(expected, 32u);
}

TEST(AgentCore, AnEpisodeThatIsForgottenTakesItsVersionsAlong) {
  Workbench bench(4);
  bench.model->changes_version = true;
  bench.Publish(1);
  bench.Act(0);
  bench.agent->End(kTerminated);
  bench.Publish(2);
  bench.Act(1);
  bench.Publish(3);
  bench.Act(2);
  bench.agent->Discard();
  for (int step = 3; step < 7; ++step) bench.Act(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(VersionsOf(received.view), (std::vector<std::uint64_t>{1, 3, 3, 3}));
}

TEST(AgentCore, AMemoryGoesOnUnderANewerVersion) {
  PolicyAndValue spec = SmallSpec();
  spec.trunk = {*Layer::Parse("lstm 8")};
  spec.separate_value = false;
  Workbench changing(6, {}, spec), steady(6, {}, spec);
  changing.model->changes_version = true;
  const AlignedFloats all = SomeParameters(spec, 1);
  const std::span<const float> flat = all;
  const ParameterLayout layout(spec);
  const auto publish = [&](Workbench& bench, std::uint64_t version) {
    bench.policies->Publish({7, version}, {},
                            flat.subspan(layout.published.offset, layout.published.count),
                            flat.subspan(layout.statistics.offset, layout.statistics.count));
  };
  publish(steady, 1);
  for (int step = 0; step < 13; ++step) {  // the same numbers under ever newer versions
    publish(changing, static_cast<std::uint64_t>(step) + 1);
    changing.Act(step);
    steady.Act(step);
  }
  EXPECT_EQ(changing.PopTrajectory().view.changes.later(), 5u);
  EXPECT_TRUE(steady.PopTrajectory().view.changes.empty());
  const auto changed = changing.PopTrajectory(), same = steady.PopTrajectory();
  ASSERT_EQ(changed.view.state0.size(), 16u);
  EXPECT_TRUE(std::ranges::equal(changed.view.state0, same.view.state0));
  EXPECT_TRUE(std::ranges::any_of(same.view.state0, [](float number) { return number != 0; }));
}

TEST(AgentCore, AnotherLifeOfTheModelBeginsAnotherTrajectory) {
  Workbench bench(8);
  bench.model->changes_version = true;
  bench.Publish(4);
  bench.Act(0), bench.Act(1);
  const AlignedFloats all = SomeParameters(bench.spec, 5);
  const std::span<const float> flat = all;
  const ParameterLayout layout(bench.spec);
  bench.policies->Publish({8, 5}, {}, flat.subspan(layout.published.offset, layout.published.count),
                          flat.subspan(layout.statistics.offset, layout.statistics.count));
  bench.Act(2);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(VersionsOf(received.view), (std::vector<std::uint64_t>{4, 4}));
}

TEST(AgentCore, ObservationsThatAreNotFiniteDropTheTrajectoryAndStillGetAnAction) {
  Workbench bench(8);
  bench.Publish(1);
  bench.Act(0), bench.Act(1);
  const std::vector<float> bad = {0.0f, kNaN, 0.0f};
  const int action = bench.agent->Act(bad);
  EXPECT_GE(action, 0);
  EXPECT_LT(action, 4);
  EXPECT_EQ(bench.agent->shared().counts().trajectories_dropped.load(), 1u);
  EXPECT_EQ(bench.agent->shared().counts().steps_dropped.load(), 3u);
  for (int step = 3; step < 12; ++step) bench.Act(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.first_step, 3u);
  EXPECT_EQ(received.view.flags[0], 0) << "the episode went on";
}

TEST(AgentCore, AFinalObservationThatIsNotFiniteDropsTheTrajectory) {
  Workbench bench(4);
  bench.Publish(1);
  bench.Act(0);
  bench.agent->End(kTruncated, std::vector<float>{kNaN, 0, 0});
  EXPECT_EQ(bench.agent->shared().counts().trajectories_dropped.load(), 1u);
  EXPECT_EQ(bench.model->credit.begun(), 0);
  for (int step = 1; step < 6; ++step) bench.Act(step);
  EXPECT_EQ(bench.PopTrajectory().view.flags[0], kFirst);
}

TEST(AgentCore, TookIsRecordedWithTheProbabilityThePolicyGivesIt) {
  Workbench bench(2);
  bench.Publish(3);
  const int acted = bench.Act(0);
  const int took = (acted + 1) % 4;
  bench.agent->Took(took);
  bench.Act(1), bench.Act(2);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.action[0], took);
  EXPECT_NEAR(
      received.view.log_prob[0],
      LogProbabilities(bench.spec, SomeParameters(bench.spec, 3), bench.Observation(0))[took],
      2e-5);
}

TEST(AgentCore, TookUnderEpsilonKnowsTheMixture) {
  Workbench bench(1);
  bench.Publish(3, {.mode = ActSettings::Mode::kEpsilon, .epsilon = 0.2f});
  const auto log_probs =
      LogProbabilities(bench.spec, SomeParameters(bench.spec, 3), bench.Observation(0));
  const int best =
      static_cast<int>(std::max_element(log_probs.begin(), log_probs.end()) - log_probs.begin());
  bench.Act(0);
  bench.agent->Took((best + 1) % 4);
  bench.Act(1);
  bench.agent->Took(best);
  EXPECT_NEAR(bench.PopTrajectory().view.log_prob[0], std::log(0.05), 1e-6);
  bench.Act(2);
  // The second observation has a best action of its own.
  const auto second =
      LogProbabilities(bench.spec, SomeParameters(bench.spec, 3), bench.Observation(1));
  const bool still = std::max_element(second.begin(), second.end()) - second.begin() == best;
  EXPECT_NEAR(bench.PopTrajectory().view.log_prob[0], std::log(still ? 0.85 : 0.05), 1e-6);
}

TEST(AgentCore, DiscardForgetsTheUnfinishedEpisodeOnly) {
  Workbench bench(4);
  bench.Publish(1);
  bench.Act(0), bench.agent->Reward(1);
  bench.agent->End(kTerminated, {});
  bench.Act(1), bench.agent->Reward(10), bench.Act(2), bench.agent->Reward(10);
  bench.agent->Discard();
  for (int step = 3; step < 7; ++step) bench.Act(step), bench.agent->Reward(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_THAT(received.view.flags, ElementsAre(kFirst | kTerminatedFlag, kFirst, 0, 0));
  EXPECT_THAT(received.view.reward, ElementsAre(1, 3, 4, 5));
  EXPECT_EQ(received.view.episodes.size(), 1u);
  EXPECT_EQ(bench.agent->shared().counts().steps_dropped.load(), 2u);
}

TEST(AgentCore, ReportsAreSummedByEpisodeAndSurviveADroppedBlock) {
  Workbench bench(1);
  bench.Publish(1);
  for (int episode = 0; episode < 10; ++episode) {
    bench.Act(episode);
    bench.agent->episode().Report("kills", 1);
    bench.agent->episode().Report("kills", episode);
    if (episode == 3) bench.agent->episode().Report("odd name!", 0.5);
    bench.agent->End(kTerminated, {});
  }
  EXPECT_THAT(bench.agent->episode().report_names(), ElementsAre("kills", "odd_name_"));
  double kills = 0, odd = 0;
  std::uint32_t kills_count = 0, odd_count = 0;
  for (auto received = bench.PopTrajectory(); received.block; received = bench.PopTrajectory()) {
    kills += received.block->reports[0].sum;
    kills_count += received.block->reports[0].count;
    odd += received.block->reports[1].sum;
    odd_count += received.block->reports[1].count;
  }
  EXPECT_EQ(kills, 55.0);
  EXPECT_EQ(kills_count, 10u);
  EXPECT_EQ(odd, 0.5);
  EXPECT_EQ(odd_count, 1u);
}

TEST(AgentCore, EvaluationIsGreedyReportsReturnsAndRecordsNoStep) {
  Workbench bench(8);
  bench.Publish(2);
  bench.Act(0), bench.agent->Reward(1);
  bench.agent->episode().SetMode(PlayMode::kEvaluate);
  bench.Act(1), bench.agent->Reward(1);
  bench.agent->End(kTerminated, {});
  for (int step = 2; step < 6; ++step) {
    const auto log_probs =
        LogProbabilities(bench.spec, SomeParameters(bench.spec, 2), bench.Observation(step));
    EXPECT_EQ(bench.Act(step),
              std::max_element(log_probs.begin(), log_probs.end()) - log_probs.begin());
    bench.agent->Reward(10);
  }
  bench.agent->End(kTerminated, {});
  const auto training = bench.PopTrajectory();
  ASSERT_NE(training.block, nullptr);
  EXPECT_EQ(training.view.steps, 2);
  EXPECT_EQ(training.view.episodes.size(), 1u);
  EXPECT_EQ(training.view.episodes[0].mode, 0u);
  const auto evaluation = bench.PopTrajectory();
  ASSERT_NE(evaluation.block, nullptr);
  EXPECT_EQ(evaluation.view.steps, 0);
  ASSERT_EQ(evaluation.view.episodes.size(), 1u);
  EXPECT_EQ(evaluation.view.episodes[0].mode, 1u);
  EXPECT_EQ(evaluation.view.episodes[0].raw_return, 40.0);
  EXPECT_EQ(evaluation.view.episodes[0].length, 4u);
  EXPECT_EQ(bench.agent->shared().counts().steps.load(), 2u)
      << "evaluation is not counted as training";
  EXPECT_EQ(bench.agent->shared().counts().steps_dropped.load(), 0u);
}

TEST(AgentCore, SilentPlayLeavesNoTrace) {
  Workbench bench(2);
  bench.Publish(1);
  bench.agent->episode().SetMode(PlayMode::kSilent);
  for (int step = 0; step < 6; ++step) bench.Act(step), bench.agent->Reward(1);
  bench.agent->End(kTerminated, {});
  bench.agent->Close();
  EXPECT_EQ(bench.PopTrajectory().block, nullptr);
}

TEST(AgentCore, ClosingHandsOverAndTheLastObservationIsWhatFollowed) {
  Workbench bench(8);
  bench.Publish(1);
  for (int step = 0; step < 4; ++step) bench.Act(step), bench.agent->Reward(step);
  bench.agent->Close();
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.steps, 3);
  EXPECT_THAT(received.view.reward, ElementsAre(0, 1, 2));
  const auto next = bench.Observation(3);
  EXPECT_TRUE(
      std::equal(next.begin(), next.end(), NumbersOf(received.view.next_observation).begin()));
}

TEST(AgentCore, ATrajectoryThatIsTooOldLeavesShort) {
  Workbench bench(64);
  bench.Publish(1);
  bench.model->max_trajectory_ns.store(0);
  for (int step = 0; step <= 16; ++step) bench.Act(step);
  const auto received = bench.PopTrajectory();
  ASSERT_NE(received.block, nullptr);
  EXPECT_EQ(received.view.steps, 16) << "the clock is read every 16 steps";
}

TEST(AgentCore, NewBlocksDropWhatWasOpenAndTakeTheNewSeed) {
  Workbench bench(4);
  bench.Publish(1);
  bench.Act(0);
  auto buffers = BuffersOf(bench.policies, 1, 6);
  const auto ring = buffers->ring;
  buffers->reseed = true;
  buffers->seed = 11;
  bench.agent->shared().Fit(std::move(buffers));
  std::vector<int> actions;
  for (int step = 0; step < 7; ++step) actions.push_back(bench.Act(step));
  EXPECT_EQ(bench.agent->shared().counts().trajectories_dropped.load(), 1u);
  ASSERT_TRUE(ring->HasReady());
  Workbench again(6);
  again.Publish(1);
  auto same = BuffersOf(again.policies, 1, 6);
  same->reseed = true;
  same->seed = 11;
  again.agent->shared().Fit(std::move(same));
  for (int step = 0; step < 7; ++step) EXPECT_EQ(again.Act(step), actions[step]);
}

TEST(AgentCoreDeathTest, AnObservationOfAnotherSizeAbortsWithBothNumbers) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Workbench bench(2);
  EXPECT_DEATH(bench.agent->Act(std::vector<float>(2)),
               "observation of 2 numbers, but the space has 3");
}

}  // namespace
}  // namespace murmurate
