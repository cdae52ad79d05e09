// Learners that share a model through a shard divide their rewards by one deviation.
#include <gtest/gtest.h>

#include "server/learn/reward_scale.h"
#include "tests/learn/example_batches.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

AlgorithmSettings Settings() {
  AlgorithmSettings settings = ExamplePpo();
  settings.optimizer = OptimizerSettings::Name::kSgd;
  settings.normalize_reward = true;
  return settings;
}

ShardSettings OfShards() {
  ShardSettings settings;
  settings.rule = DefaultRule(RuleName::kAsgd, 1);
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  settings.normalize_reward = true;
  return settings;
}

class SharedRewards : public testing::Test {
 protected:
  std::unique_ptr<Learner> Worker(std::uint32_t number) {
    RemoteSettings remote = cluster_.remote;
    remote.worker = number;
    remote.optimizer.name = OptimizerSettings::Name::kSgd;
    remote.max_grad_norm = Settings().max_grad_norm;
    return std::make_unique<Learner>(
        ExampleSpec(), Settings(), 5, Initialization{},
        std::make_unique<RemoteStore>(remote, "default", ExampleSpec(), RemoteCallbacks{}));
  }
  /// 32 steps of a game whose rewards are `times` as large.
  static void Learn(Learner& learner, float times) {
    const std::uint64_t version = learner.version();
    TrainingBatch batch = FullBatch(version, version, version, version);
    for (float& reward : batch.reward) reward *= times;
    EXPECT_GT(learner.Learn(batch, 0).updates, 0u);
  }
  static double Deviation(const Learner& learner) {
    return std::sqrt(learner.reward_statistics().variance());
  }

  LiveCluster cluster_{Transport::kMessages, OfShards(), 2};
};

TEST_F(SharedRewards, HaveOneScaleWhereTheGamesHaveTheirOwn) {
  const auto small = Worker(0), large = Worker(1);
  Learn(*small, 1.0f);
  Learn(*large, 1000.0f);
  EXPECT_GT(Deviation(*large), 500 * Deviation(*small)) << "nothing has come back yet";
  for (int i = 1; i < 10; ++i) {
    Learn(*small, 1.0f);
    Learn(*large, 1000.0f);
  }
  EXPECT_NEAR(Deviation(*small) / Deviation(*large), 1.0, 0.15);
  EXPECT_EQ(large->reward_statistics().count, 19 * 32.0) << "nine of the other, and its own";
}

TEST_F(SharedRewards, OfOneThatIsResumedCountOnce) {
  auto stopped = Worker(0);
  const auto other = Worker(1);
  for (int i = 0; i < 3; ++i) {
    Learn(*stopped, 1.0f);
    Learn(*other, 10.0f);
  }
  SavedState state;
  stopped->Save(&state);
  const auto snapshot = stopped->MakeSnapshot();
  const double before = Deviation(*other);
  stopped.reset();
  const auto resumed = Worker(0);
  ASSERT_TRUE(resumed->Load(snapshot->version, 0, snapshot->parameters, state).ok());
  Learn(*resumed, 1.0f);
  EXPECT_EQ(resumed->reward_statistics().count, 7 * 32.0);
  EXPECT_NEAR(Deviation(*resumed) / before, 1.0, 0.3);
  for (int i = 0; i < 2; ++i) Learn(*other, 10.0f);
  EXPECT_EQ(other->reward_statistics().count, 9 * 32.0);
}

TEST_F(SharedRewards, OfWhoWasResumedAroundAShardWithNothingAreKept) {
  auto stopped = Worker(0);
  for (int i = 0; i < 3; ++i) Learn(*stopped, 1.0f);
  SavedState state;
  stopped->Save(&state);
  const auto snapshot = stopped->MakeSnapshot();
  stopped.reset();
  for (int shard = 0; shard < 2; ++shard) {
    cluster_.shard(shard).Kill();
    cluster_.shard(shard).Start();
  }
  const auto resumed = Worker(0);
  ASSERT_TRUE(resumed->Load(snapshot->version, 0, snapshot->parameters, state).ok());
  for (int i = 0; i < 2; ++i) Learn(*resumed, 1.0f);
  EXPECT_EQ(resumed->reward_statistics().count, 5 * 32.0);
}

TEST_F(SharedRewards, OfOneAloneHaveTheBitsOfALearnerWithoutShards) {
  const auto alone = Worker(0);
  Learner local(ExampleSpec(), Settings(), 5);
  for (int i = 0; i < 5; ++i) {
    Learn(*alone, 3.0f);
    Learn(local, 3.0f);
  }
  EXPECT_EQ(ParametersOf(*alone), ParametersOf(local));
  EXPECT_EQ(alone->reward_statistics().m2, local.reward_statistics().m2);
  EXPECT_EQ(alone->reward_statistics().mean, local.reward_statistics().mean);
}

}  // namespace
}  // namespace murmurate
