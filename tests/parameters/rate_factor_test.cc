// A learner's own rate (RemoteSettings::rate_factor): each rule applies it, in the worker or in the shard.
#include <gtest/gtest.h>

#include "server/parameters/remote_store.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

struct Given {
  RuleName rule = RuleName::kAsgd;
  PushForm form = PushForm::kGradient;
  OptimizerSettings::Name optimizer = OptimizerSettings::Name::kAdam;
  double server_rate = 0.0;
};

std::string NameOf(const Given& given) {
  return std::string(TextOf(given.rule)) + "_" + TextOf(given.form) + "_" +
         TextOf(given.optimizer) + (given.server_rate > 0.0 ? "_server_rate" : "");
}

/// What one worker has learned after ten steps of `rate`, in two windows and more.
std::vector<float> Learned(const Given& given, double rate, double factor, double server_rate) {
  ShardSettings settings;
  settings.rule = DefaultRule(given.rule, 1);
  settings.rule.form = given.form;
  settings.rule.window = given.rule == RuleName::kAsgd ? 1 : 3;
  settings.optimizer.name = given.optimizer;
  LiveCluster cluster(Transport::kMessages, settings, 1);
  cluster.remote.optimizer = settings.optimizer;
  cluster.remote.rate_factor = factor;
  cluster.remote.server_rate = server_rate;
  Bowl problem(7);
  const auto worker = cluster.NewWorker(0);
  EXPECT_TRUE(problem.Descend(*worker, rate, 10)) << cluster.failure;
  EXPECT_EQ(worker->CollectReport().rate_factor, factor);
  return {problem.trained().begin(), problem.trained().end()};
}

class RateFactor : public testing::TestWithParam<Given> {};

TEST_P(RateFactor, IsTheRateTimesTheFactorBitForBit) {
  const Given& given = GetParam();
  const double at_shard = given.server_rate;
  EXPECT_EQ(Learned(given, 0.05, 0.25, at_shard), Learned(given, 0.0125, 1.0, 0.25 * at_shard));
  EXPECT_NE(Learned(given, 0.05, 0.25, at_shard), Learned(given, 0.05, 1.0, at_shard));
}

constexpr auto kSgd = OptimizerSettings::Name::kSgd;
constexpr auto kAdam = OptimizerSettings::Name::kAdam;
INSTANTIATE_TEST_SUITE_P(
    Rules, RateFactor,
    testing::Values(Given{}, Given{.optimizer = kSgd}, Given{.server_rate = 0.125},
                    Given{.rule = RuleName::kDownpour},
                    Given{.rule = RuleName::kDownpour, .form = PushForm::kDelta},
                    Given{.rule = RuleName::kAgn, .form = PushForm::kDelta},
                    Given{.rule = RuleName::kAgn},
                    Given{.rule = RuleName::kAdag, .form = PushForm::kDelta},
                    Given{.rule = RuleName::kDynSgd, .form = PushForm::kDelta},
                    Given{.rule = RuleName::kDynSgd, .optimizer = kSgd},
                    Given{.rule = RuleName::kSync}, Given{.rule = RuleName::kSagn},
                    Given{.rule = RuleName::kEasgd, .form = PushForm::kElastic},
                    Given{.rule = RuleName::kAeasgd, .form = PushForm::kElastic},
                    Given{.rule = RuleName::kAeamsgd,
                          .form = PushForm::kElastic,
                          .optimizer = OptimizerSettings::Name::kMomentum}),
    [](const auto& given) { return NameOf(given.param); });

// One Adam step is as long as its rate in each number: 0.1, that of the highest rate, for every
// lower factor; which way it goes is what the factors weigh.
TEST(RateFactors, OfARoundWeighItsGradientsAndTheHighestIsTheStep) {
  ShardSettings settings;
  settings.rule = DefaultRule(RuleName::kSync, 2);
  settings.optimizer.name = kAdam;
  settings.workers = 2;
  LiveCluster cluster(Transport::kMessages, settings, 1);
  AlignedFloats parameters[2];
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < 2; ++i)
    threads.emplace_back([&cluster, &x = parameters[i], i] {
      RemoteSettings remote = cluster.remote;
      remote.worker = i;
      remote.rate_factor = i == 0 ? 1.0 : 0.25;
      RemoteStore store(remote, "default", SmallSpec(), {});
      const ParameterLayout layout(SmallSpec());
      x = AlignedFloats(layout.total);
      // 2 and -4: of one weight -1, so up; of weights 1 and 1/4 the sum is 1, so down.
      const std::vector<float> gradient(layout.trained_count(), i == 0 ? 2.0f : -4.0f);
      EXPECT_TRUE(store.BeginBatch(x));
      (void)store.Step(0.1, gradient, std::span(x).first(gradient.size()));
      store.EndBatch(x);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_NEAR(parameters[0][0], -0.1f, 1e-5f);
  EXPECT_EQ(parameters[1][0], parameters[0][0]);
}

}  // namespace
}  // namespace murmurate
