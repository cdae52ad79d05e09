// What workers have seen of returns goes to shard 0 and comes back merged, also after a worker or the
// shard was killed.
#include <gtest/gtest.h>

#include "server/parameters/remote_store.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

constexpr Moments kOne{10, 1, 40}, kOther{30, 5, 1200};
// Of both: mean (10 + 150) / 40 = 4, and 40 + 1200 + (5 - 1)^2 10 30 / 40 = 1360.
constexpr Moments kBoth{40, 4, 1360};

void ExpectMoments(const std::optional<Moments>& got, const Moments& expected) {
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->count, expected.count);
  EXPECT_DOUBLE_EQ(got->mean, expected.mean);
  EXPECT_DOUBLE_EQ(got->m2, expected.m2);
}

ShardSettings Settings(RuleName name) {
  ShardSettings settings;
  settings.rule = DefaultRule(name, 2);
  settings.rule.window = 1;
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  settings.normalize_reward = true;
  return settings;
}

/// A worker and what it learns; its returns are shared in each batch.
struct Worker {
  Worker(LiveCluster& cluster, std::uint32_t number, const Moments& own)
      : problem(5, cluster.normalized), store(cluster.NewWorker(number)), seen(own) {}
  bool Learn() {
    if (!store->BeginBatch(problem.parameters)) return false;
    store->ShareReturns(seen);
    (void)store->Step(0.05, problem.Gradient(), problem.trained());
    store->EndBatch(problem.parameters);
    return true;
  }

  Bowl problem;
  std::unique_ptr<RemoteStore> store;
  Moments seen;
};

class SharedReturns : public testing::TestWithParam<std::tuple<RuleName, bool, Transport>> {
 protected:
  SharedReturns() : cluster(std::get<2>(GetParam()), Settings(std::get<0>(GetParam())), 2) {
    cluster.normalized = std::get<1>(GetParam());
  }
  LiveCluster cluster;
};

TEST_P(SharedReturns, AllGetWhatAllHaveSeenAndANewcomerBeforeItsFirstBatch) {
  Worker one(cluster, 0, kOne);
  ASSERT_TRUE(one.Learn()) << cluster.failure;
  ExpectMoments(one.store->PopReturns(), kOne);
  EXPECT_FALSE(one.store->PopReturns().has_value()) << "nothing new has come";
  {
    Worker other(cluster, 1, kOther);
    ASSERT_TRUE(other.store->BeginBatch(other.problem.parameters)) << cluster.failure;
    ExpectMoments(other.store->PopReturns(), kOne);
    ASSERT_TRUE(other.Learn());
    ExpectMoments(other.store->PopReturns(), kBoth);
    ASSERT_TRUE(other.Learn());
    ExpectMoments(other.store->PopReturns(), kBoth);  // what comes again counts once
  }
  ASSERT_TRUE(one.Learn());
  ExpectMoments(one.store->PopReturns(), kBoth);  // also of a worker that left
  Worker again(cluster, 1, {});
  ASSERT_TRUE(again.store->BeginBatch(again.problem.parameters)) << cluster.failure;
  ExpectMoments(again.store->PopReturns(), kBoth);
}

TEST_P(SharedReturns, OutliveTheShard) {
  Worker one(cluster, 0, kOne);
  ASSERT_TRUE(one.Learn()) << cluster.failure;
  {
    Worker other(cluster, 1, kOther);
    ASSERT_TRUE(other.Learn());
  }
  SavedState state;
  cluster.shard(0).Stop().Find("default")->Save(&state);
  cluster.shard(0).Kill();
  cluster.shard(0).Start([&](ParameterServer& server) {
    ASSERT_TRUE(server.Resume("default", SmallSpec(cluster.normalized).ToText(), state).ok());
  });
  one.seen = {20, 1, 80};
  ASSERT_TRUE(one.Learn()) << cluster.failure;
  // 20 of mean 1 and 30 of mean 5: mean 170/50, and 80 + 1200 + 16 * 600 / 50.
  ExpectMoments(one.store->PopReturns(), {50, 3.4, 1472});
}

INSTANTIATE_TEST_SUITE_P(
    Rules, SharedReturns,
    testing::Combine(testing::Values(RuleName::kAsgd, RuleName::kAeasgd), testing::Bool(),
                     testing::Values(Transport::kMessages, Transport::kSegment)));

}  // namespace
}  // namespace murmurate
