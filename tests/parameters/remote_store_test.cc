// A worker and its shards: what comes out must be what the rule says, whatever is lost on the way.
#include "server/parameters/remote_store.h"

#include <gmock/gmock.h>

#include <atomic>

#include "server/parameters/local_store.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

OptimizerSettings PlainSgd() {
  OptimizerSettings settings;
  settings.name = OptimizerSettings::Name::kSgd;
  return settings;
}

ShardSettings Settings(RuleName name, int workers = 1) {
  ShardSettings settings;
  settings.rule = {.name = name, .form = PushForm::kGradient, .window = 1};
  if (HasForm(name, PushForm::kElastic)) settings.rule.form = PushForm::kElastic;
  settings.rule.elastic = 0.3;
  settings.optimizer = PlainSgd();
  settings.workers = workers;
  settings.dead_after_ns = 1'000'000'000;
  return settings;
}

std::vector<float> Bits(std::span<const float> values) { return {values.begin(), values.end()}; }

const char* TextOf(Transport transport) {
  return transport == Transport::kSegment ? "Segment" : "Messages";
}

class Remote : public testing::TestWithParam<Transport> {};
INSTANTIATE_TEST_SUITE_P(Ways, Remote, testing::Values(Transport::kMessages, Transport::kSegment),
                         [](const auto& param) { return TextOf(param.param); });

class OneWorker : public testing::TestWithParam<std::tuple<RuleName, int, Transport>> {};

TEST_P(OneWorker, WindowOneIsPlainSgdBitForBit) {
  const auto [name, shards, transport] = GetParam();
  LiveCluster cluster(transport, Settings(name), shards);
  Bowl here(7), there(7);
  LocalStore local(MakeOptimizer(PlainSgd(), here.target.size()), 0.4);
  ASSERT_TRUE(here.Descend(local, 0.05, 60));
  cluster.remote.max_grad_norm = 0.4;
  cluster.remote.optimizer = PlainSgd();
  const auto worker = cluster.NewWorker(0);
  ASSERT_TRUE(there.Descend(*worker, 0.05, 60)) << cluster.failure;
  EXPECT_EQ(Bits(there.trained()), Bits(here.trained()));
  EXPECT_LT(there.Distance(), Bowl(7).Distance() * 0.9);
  EXPECT_EQ(worker->CollectReport().exchanges, 60u);
}

INSTANTIATE_TEST_SUITE_P(
    Rules, OneWorker,
    testing::Combine(testing::Values(RuleName::kAsgd, RuleName::kDownpour, RuleName::kAgn,
                                     RuleName::kAdag, RuleName::kDynSgd, RuleName::kSync,
                                     RuleName::kSagn),
                     testing::Values(1, 3),
                     testing::Values(Transport::kMessages, Transport::kSegment)),
    [](const auto& param) {
      return std::string(TextOf(std::get<0>(param.param))) + "Of" +
             std::to_string(std::get<1>(param.param)) + TextOf(std::get<2>(param.param));
    });

TEST_P(Remote, TheAveragedGradientIsClippedByTheOnlyShard) {
  ShardSettings settings = Settings(RuleName::kSync);
  settings.max_grad_norm = 0.4;
  LiveCluster cluster(GetParam(), settings, 1);
  cluster.remote.max_grad_norm = 0.4;
  Bowl here(7), there(7);
  LocalStore local(MakeOptimizer(PlainSgd(), here.target.size()), 0.4);
  ASSERT_TRUE(here.Descend(local, 0.05, 20));
  const auto worker = cluster.NewWorker(0);
  ASSERT_TRUE(there.Descend(*worker, 0.05, 20));
  EXPECT_EQ(Bits(there.trained()), Bits(here.trained()));
}

/// Runs `count` workers, each in a thread of its own; each with a target of its own, or `target`.
std::vector<Bowl> RunWorkers(LiveCluster& cluster, int count, double rate, int steps,
                             const AlignedFloats* target = nullptr) {
  std::vector<Bowl> problems;
  for (int i = 0; i < count; ++i) problems.emplace_back(100 + static_cast<std::uint64_t>(i));
  for (Bowl& problem : problems)
    if (target != nullptr) std::copy(target->begin(), target->end(), problem.target.begin());
  std::vector<std::thread> threads;
  std::atomic<int> begun = 0;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      const auto worker = cluster.NewWorker(static_cast<std::uint32_t>(i));
      Bowl& problem = problems[static_cast<std::size_t>(i)];
      problem.parameters = AlignedFloats(problem.layout.total);  // all begin at zero
      EXPECT_TRUE(worker->BeginBatch(problem.parameters));
      ++begun;
      while (begun < count) std::this_thread::yield();
      EXPECT_TRUE(problem.Descend(*worker, rate, steps)) << cluster.failure;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return problems;
}

TEST_P(Remote, SyncWithThreeWorkersIsOneThatAccumulatesInTheirOrder) {
  LiveCluster cluster(GetParam(), Settings(RuleName::kSync, 3), 2);
  const auto problems = RunWorkers(cluster, 3, 0.05, 25);
  // Sum in the order of workers, divide by their number, step: by hand.
  std::vector<float> x(problems[0].target.size(), 0.0f);
  for (int step = 0; step < 25; ++step) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      float sum = x[i] - problems[0].target[i];
      sum += x[i] - problems[1].target[i];
      sum += x[i] - problems[2].target[i];
      const float mean = sum / 3.0f;
      const float moved = 0.05f * mean;
      x[i] -= moved;
    }
  }
  for (const Bowl& problem : problems) {
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(problem.parameters[i], x[i], 1e-6) << i;
    EXPECT_EQ(Bits(std::span(problem.parameters).first(x.size())),
              Bits(std::span(problems[0].parameters).first(x.size())));
  }
}

class ManyWorkers : public testing::TestWithParam<std::tuple<RuleName, Transport>> {};

TEST_P(ManyWorkers, FindTheOptimumTogether) {
  const auto [name, transport] = GetParam();
  ShardSettings settings = Settings(name, 4);
  settings.rule.elastic = 0.1;
  settings.rule.window = name == RuleName::kAsgd || name == RuleName::kSync ? 1 : 4;
  LiveCluster cluster(transport, settings, 2);
  cluster.remote.optimizer = PlainSgd();
  const Bowl same(100);
  (void)RunWorkers(cluster, 4, 0.05, 400, &same.target);
  const Shard* const shard = cluster.shard(0).Stop().Find("default");
  ASSERT_NE(shard, nullptr);
  EXPECT_GE(shard->version(), IsSynchronous(name) ? 100u : 400u);
  for (std::size_t i = 0; i < shard->range().count; ++i)
    ASSERT_NEAR(shard->center()[i], same.target[i], 0.02) << i;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, ManyWorkers,
    testing::Combine(testing::Values(RuleName::kAsgd, RuleName::kDownpour, RuleName::kAgn,
                                     RuleName::kAdag, RuleName::kDynSgd, RuleName::kSync,
                                     RuleName::kSagn, RuleName::kEasgd, RuleName::kAeasgd,
                                     RuleName::kAeamsgd),
                     testing::Values(Transport::kMessages, Transport::kSegment)),
    [](const auto& param) {
      return std::string(TextOf(std::get<0>(param.param))) + TextOf(std::get<1>(param.param));
    });

TEST_P(Remote, AShardStartedAgainFromItsCheckpointLosesNoPush) {
  ShardSettings settings = Settings(RuleName::kAsgd);
  LiveCluster cluster(GetParam(), settings, 1);
  Bowl here(3), there(3);
  LocalStore local(MakeOptimizer(PlainSgd(), here.target.size()), 0.0);
  ASSERT_TRUE(here.Descend(local, 0.05, 30));
  const auto worker = cluster.NewWorker(0);
  ASSERT_TRUE(there.Descend(*worker, 0.05, 10));
  SavedState early;
  cluster.shard(0).Stop().Find("default")->Save(&early);
  cluster.shard(0).Kill();
  cluster.shard(0).Start([&](ParameterServer& server) {
    ASSERT_TRUE(server.Resume("default", SmallSpec().ToText(), early).ok());
  });
  ASSERT_TRUE(there.Descend(*worker, 0.05, 10));
  cluster.shard(0).Kill();  // ten pushes were answered and are in no checkpoint
  cluster.shard(0).Start([&](ParameterServer& server) {
    ASSERT_TRUE(server.Resume("default", SmallSpec().ToText(), early).ok());
  });
  ASSERT_TRUE(there.Descend(*worker, 0.05, 10));
  EXPECT_EQ(Bits(there.trained()), Bits(here.trained()));
  EXPECT_EQ(cluster.shard(0).Stop().Find("default")->version(), 30u);
}

/// Four fit, and the first is in the checkpoint: of five more the last four come again, of nine
/// none, because five would be lost anyway.
TEST_P(Remote, ATailOfPushesIsKeptAsLongAsItIsHalfOfWhatAShardWouldLose) {
  LiveCluster cluster(GetParam(), Settings(RuleName::kAsgd), 1);
  Bowl there(3);
  cluster.remote.retain_bytes = 4 * there.target.size() * sizeof(float);
  const auto worker = cluster.NewWorker(0);
  ASSERT_TRUE(there.Descend(*worker, 0.05, 1));
  SavedState early;
  cluster.shard(0).Stop().Find("default")->Save(&early);
  const auto restart = [&] {
    cluster.shard(0).Kill();
    cluster.shard(0).Start([&](ParameterServer& server) {
      ASSERT_TRUE(server.Resume("default", SmallSpec().ToText(), early).ok());
    });
  };
  restart();
  ASSERT_TRUE(there.Descend(*worker, 0.05, 5));
  restart();
  ASSERT_TRUE(there.Descend(*worker, 0.05, 1));
  EXPECT_EQ(cluster.shard(0).Stop().Find("default")->version(), 1u + 4u + 1u);
  restart();
  ASSERT_TRUE(there.Descend(*worker, 0.05, 3));
  restart();
  ASSERT_TRUE(there.Descend(*worker, 0.05, 1));
  EXPECT_EQ(cluster.shard(0).Stop().Find("default")->version(), 1u + 1u);
}

TEST_P(Remote, AShardStartedAgainWithNothingTakesWhatAWorkerHas) {
  LiveCluster cluster(GetParam(), Settings(RuleName::kAsgd), 2);
  Bowl here(3), there(3);
  LocalStore local(MakeOptimizer(PlainSgd(), here.target.size()), 0.0);
  ASSERT_TRUE(here.Descend(local, 0.05, 20));
  const auto worker = cluster.NewWorker(0);
  ASSERT_TRUE(there.Descend(*worker, 0.05, 10));
  cluster.shard(1).Kill();
  cluster.shard(1).Start();
  ASSERT_TRUE(there.Descend(*worker, 0.05, 10)) << cluster.failure;
  EXPECT_EQ(Bits(there.trained()), Bits(here.trained()));
}

TEST_P(Remote, ABarrierGoesOnWithoutAWorkerThatDied) {
  LiveCluster cluster(GetParam(), Settings(RuleName::kSync, 2), 1);
  Bowl left(1), dead(1);
  auto dies = cluster.NewWorker(1);
  const auto stays = cluster.NewWorker(0);
  std::thread other([&] { EXPECT_TRUE(dead.Descend(*dies, 0.05, 3)); });
  ASSERT_TRUE(left.Descend(*stays, 0.05, 3));
  other.join();
  dies.reset();  // says BYE
  ASSERT_TRUE(left.Descend(*stays, 0.05, 5));
  EXPECT_EQ(cluster.shard(0).Stop().Find("default")->version(), 8u);
}

TEST_P(Remote, ABarrierThatForgotItsMembersGoesOnWithThoseWhoComeBack) {
  LiveCluster cluster(GetParam(), Settings(RuleName::kSync, 2), 1);
  Bowl left(1), dead(1);
  auto dies = cluster.NewWorker(1);
  const auto stays = cluster.NewWorker(0);
  std::thread other([&] { EXPECT_TRUE(dead.Descend(*dies, 0.05, 3)); });
  ASSERT_TRUE(left.Descend(*stays, 0.05, 3));
  other.join();
  dies.reset();
  cluster.shard(0).Kill();
  cluster.shard(0).Start();  // with nothing
  ASSERT_TRUE(left.Descend(*stays, 0.05, 5));
  EXPECT_EQ(cluster.shard(0).Stop().Find("default")->version(), 5u);
}

TEST_P(Remote, WhatComesAgainToAShardWithNothingIsNotMergedTwice) {
  LiveCluster cluster(GetParam(), Settings(RuleName::kAsgd), 1);
  const auto one = cluster.NewWorker(0), two = cluster.NewWorker(1);
  Bowl here(1), there(1);
  ASSERT_TRUE(here.Descend(*one, 0.05, 6));
  ASSERT_TRUE(there.Descend(*two, 0.05, 6));
  cluster.shard(0).Kill();
  cluster.shard(0).Start();
  ASSERT_TRUE(here.Descend(*one, 0.05, 1));   // brings its parameters, which hold twelve pushes
  ASSERT_TRUE(there.Descend(*two, 0.05, 1));  // has seven retained
  EXPECT_EQ(cluster.shard(0).Stop().Find("default")->version(), 2u);
}

// Without sockets, so that the order is certain: worker 1 dies with its push in the round.
TEST(RemoteShard, AWorkerThatTakesTheNumberOfADeadOneTakesItsPlaceInTheRound) {
  const ShardSettings settings = Settings(RuleName::kSync, 2);
  Shard shard(settings, 0, 1, [](LogLevel, std::string_view) {});
  wire::Join one;
  one.model = "m";
  one.spec = SmallSpec().ToText();
  one.rule = settings.ToText();
  wire::Join two = one;
  two.worker = 1;
  ASSERT_TRUE(shard.Join(10, one, 1).ok());
  ASSERT_TRUE(shard.Join(11, two, 1).ok());
  const AlignedFloats block(shard.block_floats());
  ASSERT_TRUE(shard.OnPush(10, {}, block, 1).ok());
  ASSERT_TRUE(shard.OnPush(11, {.step = 1, .learning_rate = 0.1}, block, 1).ok());
  shard.OnBye(11, 2);
  ASSERT_TRUE(shard.Join(12, two, 3).ok());
  ASSERT_TRUE(shard.OnPush(12, {.step = 1, .learning_rate = 0.1}, block, 3).ok());
  EXPECT_EQ(shard.version(), 0u) << "worker 0 has not pushed";
  ASSERT_TRUE(shard.OnPush(10, {.step = 1, .learning_rate = 0.1}, block, 3).ok());
  EXPECT_EQ(shard.version(), 1u);
}

TEST_P(Remote, WhatDoesNotFitIsRefusedInOneSentence) {
  const auto refused = [](LiveCluster& cluster, int worker = 0) {
    const auto store = cluster.NewWorker(static_cast<std::uint32_t>(worker));
    Bowl problem(1, cluster.normalized);
    EXPECT_FALSE(problem.Descend(*store, 0.1, 1));
    return cluster.failure;
  };
  LiveCluster cluster(GetParam(), Settings(RuleName::kAsgd), 2);
  const auto first = cluster.NewWorker(0);
  Bowl problem(1);
  ASSERT_TRUE(problem.Descend(*first, 0.1, 1));

  EXPECT_THAT(refused(cluster), HasSubstr("there is a worker 0 already"));
  const std::vector<std::string> both = cluster.remote.shards;
  cluster.remote.shards = {both[0]};
  EXPECT_THAT(refused(cluster, 1), HasSubstr("do not cover the model"));
  cluster.remote.shards = {both[0], both[0]};
  EXPECT_THAT(refused(cluster, 1), HasSubstr("an address stands twice"));
  cluster.remote.shards = both;
  cluster.remote.shard.rule.name = RuleName::kDynSgd;
  EXPECT_THAT(refused(cluster, 1), HasSubstr("start both with the same config"));
  cluster.remote.shard.rule.name = RuleName::kAsgd;
  cluster.normalized = true;
  EXPECT_THAT(refused(cluster, 1), HasSubstr("another model than this shard"));
}

TEST_P(Remote, OverlappedAWorkerAloneIsOneStepLate) {
  LiveCluster cluster(GetParam(), Settings(RuleName::kAsgd), 2);
  cluster.remote.overlap = true;
  Bowl there(5);
  Bowl by_hand(5);
  const auto worker = cluster.NewWorker(0);
  ASSERT_TRUE(there.Descend(*worker, 0.05, 20));
  // x_{k+1} = x_k - eta g(x_{k-1}): the gradient of step k is taken before step k-1 has come back.
  std::vector<float> center = Bits(by_hand.trained());
  std::vector<float> seen = center;  // what the worker has
  for (int step = 0; step < 20; ++step) {
    const std::vector<float> before = center;
    for (std::size_t i = 0; i < center.size(); ++i) {
      const float moved = 0.05f * (seen[i] - by_hand.target[i]);
      center[i] -= moved;
    }
    seen = before;
  }
  EXPECT_EQ(Bits(there.trained()), seen);
}

TEST_P(Remote, InterruptedItLetsTheLearnerGo) {
  LiveCluster cluster(GetParam(), Settings(RuleName::kAsgd), 1, false);  // no shard is there
  const auto worker = cluster.NewWorker(0);
  Bowl problem(1);
  std::thread learner([&] { EXPECT_FALSE(problem.Descend(*worker, 0.1, 1)); });
  worker->Interrupt();
  learner.join();
}

TEST_P(Remote, WhatWorkersSeeOfObservationsIsCountedOnce) {
  ShardSettings settings = Settings(RuleName::kAsgd);
  LiveCluster cluster(GetParam(), settings, 2);
  cluster.normalized = true;
  const auto worker = cluster.NewWorker(0);
  Bowl problem(1, true);
  const std::size_t count = problem.layout.Find("statistics.observation.count").offset;
  const std::size_t mean = problem.layout.Find("statistics.observation.mean").offset;
  for (int batch = 1; batch <= 3; ++batch) {
    ASSERT_TRUE(worker->BeginBatch(problem.parameters));
    std::span<float> own = worker->ObservationsSeen(problem.parameters);
    own[count] = 10.0f * static_cast<float>(batch);
    own[mean] = 2.5f;
    (void)worker->Step(0.1, problem.Gradient(), problem.trained());
    worker->EndBatch(problem.parameters);
    EXPECT_EQ(problem.parameters[count], 10.0f * static_cast<float>(batch));
    EXPECT_EQ(problem.parameters[mean], 2.5f);
  }
}

}  // namespace
}  // namespace murmurate
