#include "server/learn/algorithms.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {

const AlgorithmKind& Ppo();         // ppo.cc
const AlgorithmKind& Impala();      // impala.cc
const AlgorithmKind& A2c();         // a2c.cc
const AlgorithmKind& DqnKind();     // dqn.cc
const AlgorithmKind& SacKind();     // sac.cc
const AlgorithmKind& Td3Kind();     // td3.cc
const AlgorithmKind& R2d2Kind();    // r2d2.cc
const AlgorithmKind& IqlKind();     // iql.cc
const AlgorithmKind& Supervised();  // labels.cc
const AlgorithmKind& Bc();          // labels.cc

static std::vector<const AlgorithmKind*>& All() {
  static std::vector<const AlgorithmKind*> all{&Ppo(),        &Impala(),  &A2c(),      &DqnKind(),
                                               &SacKind(),    &Td3Kind(), &R2d2Kind(), &IqlKind(),
                                               &Supervised(), &Bc()};
  return all;
}

std::span<const AlgorithmKind* const> Algorithms() { return All(); }

void AddAlgorithm(const AlgorithmKind& kind) { All().push_back(&kind); }

const AlgorithmKind& DefaultAlgorithm() { return *Algorithms().front(); }

const AlgorithmKind* AlgorithmNamed(std::string_view name) {
  const auto found = std::ranges::find(Algorithms(), name, &AlgorithmKind::name);
  return found == Algorithms().end() ? nullptr : *found;
}

const AlgorithmKind& FirstAlgorithm(bool AlgorithmKind::*property) {
  const auto found = std::ranges::find(Algorithms(), true, property);
  MURMURATE_CHECK(found != Algorithms().end(), "an algorithm has the property");
  return **found;
}

void ReportMetrics(const AlgorithmKind& kind, const AlgorithmSums& sums, LearnReport* report) {
  for (const AlgorithmMetric& metric : kind.metrics) {
    const double over = metric.over == AlgorithmMetric::kAsItIs ? 1.0 : sums[metric.over];
    if (over <= 0.0) continue;
    const double value = sums[metric.sum] / over;
    if (const auto* const* own = std::get_if<const Metric*>(&metric.number))
      report->metrics.Set(**own, value);
    else
      report->*std::get<double LearnReport::*>(metric.number) = value;
  }
}

std::vector<std::string> AlgorithmNames() {
  std::vector<std::string> names;
  for (const AlgorithmKind* kind : Algorithms()) names.push_back(kind->name);
  return names;
}

}  // namespace murmurate
