// What is equal on paper is equal here: bit for bit where the operations are the same, to rounding
// where they are not. All with plain SGD on both sides unless a test says otherwise.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "server/parameters/apply.h"
#include "server/parameters/hogwild.h"
#include "server/parameters/optimizers.h"
#include "tests/parameters/cluster.h"
#include "tests/parameters/quadratic.h"

namespace murmurate {
namespace {

using Numbers = std::vector<float>;

constexpr std::size_t kCount = 37;  // no multiple of any vector
constexpr float kRate = 0.1f;
constexpr float kNoise = 0.3f;

/// x - eta g, a hundred times, written down once more.
Numbers PlainSgd(int steps) {
  Quadratic problem(kCount, 1);
  Numbers x = problem.start, g(kCount);
  for (int i = 0; i < steps; ++i) {
    problem.Gradient(x, kNoise, g);
    for (std::size_t j = 0; j < kCount; ++j) {
      const float step = kRate * g[j];
      x[j] = x[j] - step;
    }
  }
  return x;
}

Cluster::Gradient GradientOf(Quadratic& problem) {
  return [&problem](int, std::span<const float> x, std::span<float> out) {
    problem.Gradient(x, kNoise, out);
  };
}

/// One worker of `rule` after so many gradients: its copy, then the center.
std::pair<Numbers, Numbers> OneWorker(const RuleSettings& rule, int steps) {
  Quadratic problem(kCount, 1);
  Cluster cluster({.rule = rule, .learning_rate = kRate}, problem.start);
  for (int i = 0; i < steps; ++i) cluster.Step(0, GradientOf(problem));
  return {cluster.local(0), cluster.center()};
}

std::string NameOf(const testing::TestParamInfo<RuleName>& test) { return TextOf(test.param); }

void ExpectNear(std::span<const float> a, std::span<const float> b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

class GradientFormTest : public testing::TestWithParam<RuleName> {};

TEST_P(GradientFormTest, OneWorkerWithWindowOneIsPlainSgdBitForBit) {
  const auto [local, center] = OneWorker({.name = GetParam()}, 100);
  EXPECT_TRUE(SameBits(center, PlainSgd(100)));
  EXPECT_TRUE(SameBits(local, center));
}

INSTANTIATE_TEST_SUITE_P(, GradientFormTest,
                         testing::Values(RuleName::kAsgd, RuleName::kDownpour, RuleName::kAgn,
                                         RuleName::kAdag, RuleName::kDynSgd, RuleName::kSync,
                                         RuleName::kSagn),
                         NameOf);

TEST(Hogwild, OneThreadIsPlainSgdBitForBit) {
  for (const bool locking : {false, true}) {
    Quadratic problem(kCount, 1);
    HogwildParameters shared(problem.start, 1, locking);
    Numbers x(kCount), g(kCount);
    for (int i = 0; i < 100; ++i) {
      shared.Read(0, x);
      problem.Gradient(x, kNoise, g);
      shared.Step(0, kRate, 1.0f, g);
    }
    shared.Read(0, x);
    EXPECT_TRUE(SameBits(x, PlainSgd(100)));
  }
}

class DeltaFormTest : public testing::TestWithParam<RuleName> {};

TEST_P(DeltaFormTest, OneWorkerWithWindowOneIsPlainSgdToRounding) {
  const auto [local, center] = OneWorker({.name = GetParam(), .form = PushForm::kDelta}, 100);
  ExpectNear(center, PlainSgd(100), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(, DeltaFormTest,
                         testing::Values(RuleName::kDownpour, RuleName::kAgn, RuleName::kAdag,
                                         RuleName::kDynSgd),
                         NameOf);

TEST(Downpour, OneWindowOfDeltasIsAsManyStepsOfPlainSgd) {
  for (const RuleName name : {RuleName::kDownpour, RuleName::kDynSgd}) {
    const auto [local, center] =
        OneWorker({.name = name, .form = PushForm::kDelta, .window = 5}, 5);
    ExpectNear(center, PlainSgd(5), 1e-6);
    EXPECT_TRUE(SameBits(local, center));
  }
}

TEST(Agn, OneWindowMovesTheCenterByItsShareOfPlainSgd) {
  const Numbers start = Quadratic(kCount, 1).start, whole = PlainSgd(5);
  const auto [local, center] =
      OneWorker({.name = RuleName::kAgn, .form = PushForm::kDelta, .window = 5}, 5);
  for (std::size_t j = 0; j < kCount; ++j)
    EXPECT_EQ(center[j], start[j] + (whole[j] - start[j]) / 5);
}

TEST(DynSgd, IsDownpourDividedByStalenessPlusOne) {
  Quadratic problem(kCount, 2);
  for (const PushForm form : {PushForm::kGradient, PushForm::kDelta}) {
    for (const std::uint64_t staleness : {0u, 1u, 2u, 3u, 9u}) {
      Numbers downpour = problem.start, dynsgd = problem.start;
      Sgd sgd({});
      const Push push{problem.optimum, staleness, {}, kRate};
      EXPECT_EQ(Merge({.name = RuleName::kDownpour, .form = form}, push, downpour, &sgd, {}), 1);
      EXPECT_FLOAT_EQ(Merge({.name = RuleName::kDynSgd, .form = form}, push, dynsgd, &sgd, {}),
                      1.0f / static_cast<float>(staleness + 1));
      for (std::size_t j = 0; j < kCount; ++j)
        EXPECT_NEAR(dynsgd[j] - problem.start[j],
                    (downpour[j] - problem.start[j]) / static_cast<float>(staleness + 1), 2e-7);
      if (staleness == 0) {
        EXPECT_TRUE(SameBits(dynsgd, downpour));
      }
    }
  }
}

TEST(Adag, IsAgnWhileTheCenterStandsStill) {
  for (const PushForm form : {PushForm::kGradient, PushForm::kDelta}) {
    const auto agn = OneWorker({.name = RuleName::kAgn, .form = form, .window = 3}, 30);
    const auto adag = OneWorker({.name = RuleName::kAdag, .form = form, .window = 3}, 30);
    EXPECT_TRUE(SameBits(adag.second, agn.second));
  }
}

TEST(Adag, FactorFallsFromOneWithTheDistanceMoved) {
  const RuleSettings rule{.name = RuleName::kAdag};
  const Numbers pulled(kCount, 1.0f);
  float last = 2.0f;
  for (const float moved : {0.0f, 0.001f, 0.1f, 1.0f, 3.0f, 1000.0f}) {
    Numbers center = pulled;
    center[kCount - 1] += moved;
    const float factor = MergeScale(rule, {.contribution = {}, .pulled = pulled}, center);
    EXPECT_GT(factor, 0.0f);
    EXPECT_LE(factor, 1.0f);
    if (moved > 0.001f) {
      EXPECT_LT(factor, last);
    }
    EXPECT_NEAR(factor, 1 / (moved * moved + 1), 1e-3);
    last = factor;
  }
}

/// Least squares on rows of data: a gradient is a mean over a batch of rows.
struct Rows {
  Rows() {
    Random random(7);
    for (int i = 0; i < 32; ++i) {
      for (std::size_t j = 0; j < kCount; ++j) x.push_back(2.0f * random.Uniform() - 1.0f);
      y.push_back(2.0f * random.Uniform() - 1.0f);
    }
  }
  void Gradient(std::span<const float> w, std::size_t begin, std::size_t count,
                std::span<float> out) const {
    std::fill(out.begin(), out.end(), 0.0f);
    for (std::size_t row = begin; row < begin + count; ++row) {
      const float* row_x = x.data() + row * kCount;
      float error = -y[row];
      for (std::size_t j = 0; j < kCount; ++j) error += w[j] * row_x[j];
      for (std::size_t j = 0; j < kCount; ++j) out[j] += error * row_x[j];
    }
    for (float& value : out) value /= static_cast<float>(count);
  }
  Numbers x, y;
};

/// One worker that accumulates `parts` batches of 32 / parts rows, then steps by their mean.
Numbers Accumulating(const Rows& rows, std::size_t parts) {
  Numbers w(kCount, 0.5f), g(kCount), sum(kCount);
  Sgd sgd({});
  for (int step = 0; step < 20; ++step) {
    for (std::size_t part = 0; part < parts; ++part) {
      const std::size_t count = 32 / parts;
      rows.Gradient(w, part * count, count, g);
      for (std::size_t j = 0; j < kCount; ++j) sum[j] = part == 0 ? g[j] : sum[j] + g[j];
    }
    for (float& value : sum) value /= static_cast<float>(parts);
    sgd.Step(kRate, 1.0f, sum, w);
  }
  return w;
}

TEST(Sync, WorkersAreOneThatAccumulatesInTheirOrder) {
  const Rows rows;
  Cluster cluster({.rule = {.name = RuleName::kSync}, .workers = 4, .learning_rate = kRate},
                  Numbers(kCount, 0.5f));
  for (int step = 0; step < 20; ++step) {
    for (const int worker : {2, 0, 3, 1}) {  // whoever comes first
      cluster.Step(worker, [&](int index, std::span<const float> w, std::span<float> out) {
        rows.Gradient(w, static_cast<std::size_t>(index) * 8, 8, out);
      });
    }
  }
  EXPECT_TRUE(SameBits(cluster.center(), Accumulating(rows, 4)));
  const Numbers one_batch = Accumulating(rows, 1);
  for (std::size_t j = 0; j < kCount; ++j)
    EXPECT_NEAR(cluster.center()[j], one_batch[j], 1e-6 * std::max(1.0f, std::abs(one_batch[j])));
}

TEST(Sync, WindowIsAccumulationOnOneWorker) {
  const Rows rows;
  Cluster cluster({.rule = {.name = RuleName::kSync, .window = 4}, .learning_rate = kRate},
                  Numbers(kCount, 0.5f));
  std::size_t part = 0;
  for (int step = 0; step < 80; ++step) {
    cluster.Step(0, [&](int, std::span<const float> w, std::span<float> out) {
      rows.Gradient(w, part++ % 4 * 8, 8, out);
    });
  }
  EXPECT_TRUE(SameBits(cluster.center(), Accumulating(rows, 4)));
}

TEST(Elastic, StepConservesTheSumOfWorkerAndCenter) {
  // Exactly, for numbers whose sums are exact.
  Numbers x = {4, -3, 1024}, center = {0, 5, -512}, e(3);
  Merge({.name = RuleName::kAeasgd, .form = PushForm::kElastic, .elastic = 0.125},
        {.contribution = x}, center, nullptr, e);
  Subtract(e, x);
  EXPECT_EQ(x[0] + center[0], 4);
  EXPECT_EQ(x[1] + center[1], 2);
  EXPECT_EQ(x[2] + center[2], 512);
  // To rounding in general, over many exchanges.
  Quadratic problem(kCount, 3);
  Numbers local = problem.start, shard = problem.optimum, push(kCount);
  for (int i = 0; i < 50; ++i) {
    const RuleSettings rule{
        .name = RuleName::kAeamsgd, .form = PushForm::kElastic, .elastic = 0.03};
    Contribution(rule, {local, {}, {}, 1}, push);
    Merge(rule, {.contribution = push}, shard, nullptr, push);
    Adopt(rule, push, {}, local);
  }
  for (std::size_t j = 0; j < kCount; ++j)
    EXPECT_NEAR(local[j] + shard[j], problem.start[j] + problem.optimum[j], 1e-6);
}

/// eta = 0: the difference of the pair shrinks by 1 - 2 alpha with each exchange.
TEST(Elastic, WithoutGradientsAPairConvergesGeometrically) {
  for (const RuleName name : {RuleName::kEasgd, RuleName::kAeasgd, RuleName::kAeamsgd}) {
    const RuleSettings rule{.name = name, .form = PushForm::kElastic, .elastic = 0.1};
    Cluster cluster({.rule = rule, .learning_rate = 0.0f}, {1.0f}, {{5.0f}});
    double difference = 4.0;
    for (int i = 0; i < 20; ++i) {
      cluster.Step(0, [](int, auto, std::span<float> out) { out[0] = 1.0f; });
      difference *= 0.8;
      EXPECT_NEAR(cluster.local(0)[0] - cluster.center()[0], difference, 1e-5);
    }
    EXPECT_NEAR(cluster.center()[0], 3.0, 0.05);
  }
}

TEST(Elastic, WithAlphaZeroWorkersAreIndependent) {
  for (const RuleName name : {RuleName::kEasgd, RuleName::kAeasgd, RuleName::kAeamsgd}) {
    const RuleSettings rule{.name = name, .form = PushForm::kElastic, .elastic = 0.0};
    const bool moves = name == RuleName::kAeamsgd;
    const OptimizerSettings optimizer{.name = moves ? OptimizerSettings::Name::kMomentum
                                                    : OptimizerSettings::Name::kSgd};
    Quadratic first(kCount, 1), second(kCount, 2);
    const Cluster::Gradient gradient = [&](int worker, auto x, auto out) {
      (worker == 0 ? first : second).Gradient(x, kNoise, out);
    };
    Cluster cluster({rule, 2, kRate, optimizer}, first.optimum, {first.start, second.start});
    for (int i = 0; i < 100; ++i) {
      cluster.Step(0, gradient);
      cluster.Step(1, gradient);
    }
    Quadratic alone(kCount, 1);
    Numbers x = alone.start, g(kCount);
    const auto own = MakeOptimizer(optimizer, kCount);
    for (int i = 0; i < 100; ++i) {
      alone.Gradient(x, kNoise, g);
      own->Step(kRate, 1.0f, g, x);
      own->LookAhead(x);
    }
    EXPECT_TRUE(SameBits(cluster.local(0), x)) << TextOf(name);
    EXPECT_TRUE(SameBits(cluster.center(), first.optimum));
    if (!moves) {
      EXPECT_TRUE(SameBits(x, PlainSgd(100)));
    }
  }
}

TEST(Aeamsgd, WithoutMomentumIsAeasgdBitForBit) {
  const auto run = [](RuleName name, const OptimizerSettings& optimizer) {
    const RuleSettings rule{.name = name, .form = PushForm::kElastic, .window = 3, .elastic = 0.2};
    Quadratic problem(kCount, 1);
    Cluster cluster({rule, 3, kRate, optimizer}, problem.start);
    for (int i = 0; i < 100; ++i) {
      for (int worker = 0; worker < 3; ++worker) cluster.Step(worker, GradientOf(problem));
    }
    Numbers all = cluster.center();
    for (int worker = 0; worker < 3; ++worker)
      all.insert(all.end(), cluster.local(worker).begin(), cluster.local(worker).end());
    return all;
  };
  using Name = OptimizerSettings::Name;
  const Numbers aeasgd = run(RuleName::kAeasgd, {.name = Name::kSgd});
  EXPECT_TRUE(SameBits(
      run(RuleName::kAeamsgd, {.name = Name::kMomentum, .momentum = {.delta = 0.0f}}), aeasgd));
  EXPECT_FALSE(SameBits(
      run(RuleName::kAeamsgd, {.name = Name::kMomentum, .momentum = {.delta = 0.5f}}), aeasgd));
}

/// Two shards of 20 and 17 parameters, merged one after the other.
TEST(Ranges, HowTheParametersAreCutChangesNoBit) {
  const Quadratic problem(kCount, 5);
  for (const RuleSettings& rule :
       {RuleSettings{.name = RuleName::kAsgd},
        RuleSettings{.name = RuleName::kDynSgd, .form = PushForm::kDelta},
        RuleSettings{.name = RuleName::kAeasgd, .form = PushForm::kElastic, .elastic = 0.3}}) {
    Numbers whole = problem.start, cut = problem.start, whole_e(kCount), cut_e(kCount);
    Sgd sgd({});
    Merge(rule, {problem.optimum, 2, {}, kRate}, whole, &sgd, whole_e);
    for (const auto& [begin, count] : {std::pair(0, 20), std::pair(20, 17)}) {
      const auto of = [&](auto& block) { return std::span(block).subspan(begin, count); };
      Merge(rule, {of(problem.optimum), 2, {}, kRate}, of(cut), &sgd, of(cut_e));
    }
    EXPECT_TRUE(SameBits(whole, cut)) << TextOf(rule.name);
    EXPECT_TRUE(SameBits(whole_e, cut_e));
    EXPECT_FALSE(SameBits(whole, problem.start));
  }
}

}  // namespace
}  // namespace murmurate
