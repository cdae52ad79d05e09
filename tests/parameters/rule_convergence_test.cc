// Every rule, with the settings its source has, finds the optimum of a convex problem: four
// workers, in turns and in a random order in which some are far ahead of others.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "server/parameters/hogwild.h"
#include "tests/parameters/cluster.h"
#include "tests/parameters/quadratic.h"

namespace murmurate {
namespace {

constexpr std::size_t kCount = 8;
constexpr int kWorkers = 4;

struct Case {
  std::string name;
  Cluster::Settings settings;
};

std::ostream& operator<<(std::ostream& out, const Case& item) { return out << item.name; }

Case CaseOf(RuleName name, PushForm form, float rate) {
  Case item{std::string(TextOf(name)) + "_" + TextOf(form),
            {.rule = DefaultRule(name, kWorkers), .workers = kWorkers, .learning_rate = rate}};
  item.settings.rule.form = form;
  return item;
}

std::vector<Case> Cases() {
  using Name = OptimizerSettings::Name;
  constexpr PushForm kGradient = PushForm::kGradient, kDelta = PushForm::kDelta,
                     kElastic = PushForm::kElastic;
  std::vector<Case> cases = {
      CaseOf(RuleName::kAsgd, kGradient, 0.1f),  CaseOf(RuleName::kDownpour, kGradient, 0.1f),
      CaseOf(RuleName::kDownpour, kDelta, 0.1f), CaseOf(RuleName::kAgn, kGradient, 0.1f),
      CaseOf(RuleName::kAgn, kDelta, 0.1f),      CaseOf(RuleName::kAdag, kGradient, 0.1f),
      CaseOf(RuleName::kAdag, kDelta, 0.1f),     CaseOf(RuleName::kDynSgd, kGradient, 0.05f),
      CaseOf(RuleName::kDynSgd, kDelta, 0.05f),  CaseOf(RuleName::kSync, kGradient, 0.1f),
      CaseOf(RuleName::kSagn, kGradient, 0.1f),  CaseOf(RuleName::kEasgd, kElastic, 0.1f),
      CaseOf(RuleName::kAeasgd, kElastic, 0.1f), CaseOf(RuleName::kAeamsgd, kElastic, 0.01f)};
  cases.back().settings.worker_optimizer = {.name = Name::kMomentum, .momentum = {.delta = 0.99f}};
  Case adagrad = CaseOf(RuleName::kDownpour, kGradient, 0.1f);
  adagrad.name = "downpour_adagrad";
  adagrad.settings.shard_optimizer = {.name = Name::kAdagrad};
  cases.push_back(adagrad);
  return cases;
}

class ConvergenceTest : public testing::TestWithParam<Case> {};

/// Workers in the order that `next` says; the distance of the center to the optimum.
template <typename Next>
double DistanceAfter(const Cluster::Settings& settings, int steps, Next next) {
  Quadratic problem(kCount, 11);
  EXPECT_GT(problem.DistanceToOptimum(problem.start), 1.0);
  Cluster cluster(settings, problem.start);
  for (int i = 0; i < steps; ++i) {
    cluster.Step(next(i), [&](int, std::span<const float> x, std::span<float> out) {
      problem.Gradient(x, 0.0f, out);
    });
  }
  return problem.DistanceToOptimum(cluster.center());
}

TEST_P(ConvergenceTest, FourWorkersInTurnsFindTheOptimum) {
  EXPECT_LT(DistanceAfter(GetParam().settings, 20000, [](int i) { return i % kWorkers; }), 1e-3);
}

TEST_P(ConvergenceTest, FourWorkersInARandomOrderFindTheOptimum) {
  Random random(13);
  const auto next = [&](int) { return static_cast<int>(random.UniformInt(kWorkers)); };
  EXPECT_LT(DistanceAfter(GetParam().settings, 20000, next), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(, ConvergenceTest, testing::ValuesIn(Cases()),
                         [](const auto& test) { return test.param.name; });

TEST(HogwildConvergence, FourThreadsFindTheOptimum) {
  const Quadratic problem(kCount, 11);
  for (const bool locking : {false, true}) {
    HogwildParameters shared(problem.start, kWorkers, locking);
    std::vector<std::thread> threads;
    for (int i = 0; i < kWorkers; ++i) {
      threads.emplace_back([&, i] {
        Quadratic own = problem;
        std::vector<float> x(kCount), g(kCount);
        for (int step = 0; step < 2000; ++step) {
          shared.Read(i, x);
          own.Gradient(x, 0.0f, g);
          shared.Step(i, 0.1f, 1.0f, g);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<float> x(kCount);
    shared.Read(0, x);
    EXPECT_LT(problem.DistanceToOptimum(x), 1e-3);
  }
}

}  // namespace
}  // namespace murmurate
