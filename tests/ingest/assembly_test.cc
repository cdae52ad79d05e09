#include "server/ingest/assembly.h"

#include <gmock/gmock.h>

#include <limits>

#include "server/ingest/offered_model.h"
#include "shared/core/clock.h"
#include "shared/model/policy_and_value.h"
#include "tests/experience/sample_trajectory.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = kNanosecondsPerSecond;

OfferedModel SampleModel(int trajectories, double max_batch_s = 10.0) {
  PolicyAndValue spec;
  spec.spaces = SampleSpaces();
  OfferedModel model;
  model.channel = std::make_shared<ExperienceChannel>(spec, 4, trajectories);
  model.max_batch_s = max_batch_s;
  return model;
}

SampleTrajectory Of(std::uint32_t agent, int steps = 4) {
  SampleTrajectory sample(steps, 1);
  sample.agent = agent;
  return sample;
}

TEST(Assembly, ABatchIsOldOnlyWhenTheSlowestAgentHasGivenItsShare) {
  Assembly assembly("default", SampleModel(16), 0);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(assembly.TryAdd(Of(0).View(), 3 * kSecond), Assembly::Outcome::kAdded);
  }
  EXPECT_FALSE(assembly.old(2, 100 * kSecond));
  (void)assembly.TryAdd(Of(1, 4).View(), 4 * kSecond);
  (void)assembly.TryAdd(Of(1, 3).View(), 5 * kSecond);
  EXPECT_FALSE(assembly.old(2, 100 * kSecond)) << "agent 1 has given 7 of 8 steps";
  (void)assembly.TryAdd(Of(1, 1).View(), 6 * kSecond);
  EXPECT_TRUE(assembly.old(2, 13 * kSecond)) << "ten seconds after its first trajectory";
  EXPECT_FALSE(assembly.old(2, 12 * kSecond));
  EXPECT_FALSE(assembly.old(0, 100 * kSecond)) << "nobody plays: nobody waits for it";
}

TEST(Assembly, AQuorumClosesABatchOnceTheRestHasBeenWaitedFor) {
  OfferedModel model = SampleModel(4);
  model.current_only = true;
  model.quorum = 0.75;
  model.quorum_wait_s = 2;
  Assembly assembly("default", model, 0);
  EXPECT_FALSE(assembly.quorum(4, 4, 0)) << "there is nothing to hand over";
  const SampleTrajectory sample = Of(0);
  TrajectoryView view = sample.View();
  view.version = 5;
  model.channel->version = 5;
  EXPECT_EQ(assembly.MayTake(view, true).refusal, wire::Refusal::kNone);
  ASSERT_EQ(assembly.TryAdd(view, kSecond), Assembly::Outcome::kAdded);
  EXPECT_FALSE(assembly.quorum(2, 4, kSecond));
  EXPECT_FALSE(assembly.quorum(3, 4, 2 * kSecond));
  EXPECT_FALSE(assembly.quorum(3, 4, 4 * kSecond - 1));
  EXPECT_TRUE(assembly.quorum(3, 4, 4 * kSecond));
  assembly.HandOver(false, 4 * kSecond);
  EXPECT_EQ(assembly.MayTake(view, true).refusal, wire::Refusal::kStale) << "its batch is closed";
  view.version = 6;
  EXPECT_EQ(assembly.MayTake(view, true).refusal, wire::Refusal::kNone);
}

TEST(Assembly, AVersionThatIsNotPublishedYetIsNotClosedByTheClientThatNamesIt) {
  OfferedModel model = SampleModel(1);
  model.current_only = true;
  Assembly assembly("default", model, 0);
  model.channel->version = 5;
  const SampleTrajectory sample = Of(0);
  TrajectoryView view = sample.View();
  view.version = 6;  // what Examine lets through, one ahead of the newest
  ASSERT_EQ(assembly.TryAdd(view, 0), Assembly::Outcome::kAdded);
  assembly.HandOver(false, 0);
  EXPECT_EQ(assembly.MayTake(view, true).refusal, wire::Refusal::kNone);
  view.version = 5;
  EXPECT_EQ(assembly.MayTake(view, true).refusal, wire::Refusal::kStale);
}

TEST(Assembly, WhatAnEarlierLifePlayedIsTakenUnlessOnlyTheCurrentVersionIs) {
  OfferedModel model = SampleModel(1);
  const SampleTrajectory sample = Of(0);
  TrajectoryView view = sample.View();
  view.version = std::uint64_t{1} << 63;
  EXPECT_EQ(Assembly("default", model, 0).MayTake(view, false).refusal, wire::Refusal::kNone);
  model.current_only = true;
  const BlockRefusal refused = Assembly("default", model, 0).MayTake(view, false);
  EXPECT_EQ(refused.refusal, wire::Refusal::kStale);
  EXPECT_EQ(refused.sentence,
            "model default takes experience of its current version only, and this was played under "
            "version 9223372036854775808 of the learner that this one goes on from");
  view.steps = 0;  // episodes alone
  EXPECT_EQ(Assembly("default", model, 0).MayTake(view, false).refusal, wire::Refusal::kNone);
}

TEST(Assembly, ABadNumberLeavesThePlaceFree) {
  const OfferedModel model = SampleModel(2);
  Assembly assembly("default", model, 0);
  SampleTrajectory bad = Of(0);
  bad.observation.back() = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(assembly.TryAdd(bad.View(), 0), Assembly::Outcome::kBadObservation);
  EXPECT_EQ(model.channel->received_trajectories, 0u);
  EXPECT_EQ(assembly.TryAdd(Of(0).View(), 0), Assembly::Outcome::kAdded);
  EXPECT_FALSE(assembly.full());
  EXPECT_EQ(assembly.TryAdd(Of(1).View(), 0), Assembly::Outcome::kAdded);
  EXPECT_TRUE(assembly.full());
}

TEST(Assembly, EpisodesWithoutStepsAreBoundedSoThatNobodyFillsTheMemory) {
  const OfferedModel model = SampleModel(2);
  Assembly assembly("default", model, 0);
  SampleTrajectory idle(0, 0);
  idle.episodes.resize(2 * static_cast<std::size_t>(model.channel->layout.max_episodes));
  TrajectoryView view = idle.View();
  view.next_observation = {};
  EXPECT_EQ(assembly.TryAdd(view, 0), Assembly::Outcome::kAdded);
  idle.episodes.resize(1);
  view.episodes = idle.episodes;
  EXPECT_EQ(assembly.TryAdd(view, 0), Assembly::Outcome::kTooManyEpisodes);
  EXPECT_EQ(assembly.TryAdd(Of(0).View(), 0), Assembly::Outcome::kAdded) << "steps still count";
}

TEST(Assembly, SaysThatItWaitsForExperience) {
  Assembly assembly("npc", SampleModel(8), 0);
  for (int i = 0; i < 3; ++i) (void)assembly.TryAdd(Of(0).View(), kSecond);
  EXPECT_EQ(assembly.Waiting(2, kSecond + kSecond / 2), "");
  EXPECT_EQ(assembly.Waiting(2, 5 * kSecond + kSecond / 10),
            "model npc waits for experience: 3 of 8 trajectories, none for 4.1 s, from 2 live "
            "agents");
  EXPECT_THAT(assembly.Waiting(0, 5 * kSecond), HasSubstr("model npc waits for an actor"));
}

TEST(Assembly, SaysThatActorsWaitForTheLearner) {
  const OfferedModel model = SampleModel(1);
  Assembly assembly("npc", model, 0);
  (void)assembly.TryAdd(Of(0).View(), kSecond);
  ASSERT_TRUE(assembly.full());
  assembly.HandOver(false, kSecond);
  EXPECT_EQ(assembly.Waiting(1, kSecond + 1), "");
  EXPECT_EQ(assembly.Waiting(1, 4 * kSecond),
            "model npc: its actors wait for the learner, which has had 1 full batch for 3.0 s");
}

TEST(Assembly, ALearnerThatIsGoneCostsTheBatchAndNothingElse) {
  const OfferedModel model = SampleModel(1);
  Assembly assembly("npc", model, 0);
  model.channel->ready.Close();
  (void)assembly.TryAdd(Of(0).View(), 0);
  assembly.HandOver(false, 0);
  EXPECT_EQ(assembly.TryAdd(Of(0).View(), 0), Assembly::Outcome::kAdded);
}

TEST(OfferedModel, OfADeterministicPolicyIsForClientsThatKnowThem) {
  for (const bool deterministic : {false, true}) {
    PolicyAndValue spec;
    spec.spaces = {Box({3}), Box({2}, -1, 1)};
    spec.continuous.deterministic = deterministic;
    OfferedModel model;
    model.channel = std::make_shared<ExperienceChannel>(spec, 4, 4);
    const Result<wire::SessionModel> offered = ForSession("default", model, false);
    ASSERT_TRUE(offered.ok()) << offered.status();
    EXPECT_EQ(offered->features,
              wire::kNamedNetworks | (deterministic ? wire::kDeterministic : 0u));
  }
}

}  // namespace
}  // namespace murmurate
