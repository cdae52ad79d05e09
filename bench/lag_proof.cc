// The lag proof, seed by seed: steps to a rollout mean of 475 on CartPole when actors play under
// the parameters of L batches ago. The limit of a row is 1.3 x (L = 4) or 1.6 x (L = 16) the median
// of L = 0.
//
//   bench_lag_proof [ppo|impala|a2c] [SEEDS] [LAG...]      (ppo, 15 seeds, lags 0 1 2 4 8 16)
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "server/learn/algorithms.h"
#include "tests/learn/in_process_training.h"

namespace {

using murmurate::TrainingOutcome;

/// Prints a row of the table; returns the median.
double Row(murmurate::InProcessSettings settings, int lag, int seeds, double fresh) {
  settings.lag = lag;
  std::vector<double> steps;
  double learn_seconds = 0, total_steps = 0;
  int solved = 0, good = 0;
  std::printf("| %2d |", lag);
  for (int seed = 1; seed <= seeds; ++seed) {
    const TrainingOutcome outcome = murmurate::TrainInProcess(settings, seed);
    steps.push_back(static_cast<double>(outcome.steps) / 1e3);
    std::printf(outcome.solved ? " %.0f" : " never", steps.back());
    std::fflush(stdout);
    learn_seconds += outcome.learn_seconds;
    total_steps += static_cast<double>(outcome.steps);
    solved += outcome.solved ? 1 : 0;
    good += murmurate::EvaluateGreedy(outcome, 100, 1'000'000 + seed) >= 475.0 ? 1 : 0;
  }
  std::sort(steps.begin(), steps.end());
  const double median = steps[steps.size() / 2];
  std::printf(" | %.1f | %.1f | %.2f | %d/%d | %d/%d | %.2f |\n", median, steps.back(),
              fresh > 0 ? median / fresh : 1.0, solved, seeds, good, seeds,
              1e6 * learn_seconds / total_steps);
  return median;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "ppo";
  const auto* const algorithm = murmurate::AlgorithmNamed(name);
  if (algorithm) {
    --argc;
    ++argv;
  }
  const murmurate::InProcessSettings settings =
      algorithm == murmurate::AlgorithmNamed("impala") ? murmurate::CartPoleImpalaSettings()
      : algorithm == murmurate::AlgorithmNamed("a2c")  ? murmurate::CartPoleA2cSettings()
                                                       : murmurate::CartPoleSettings();
  const int seeds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  std::vector<int> lags = {0, 1, 2, 4, 8, 16};
  if (argc > 2) lags.assign(1, 0);
  for (int i = 2; i < argc; ++i) {
    if (const int lag = std::atoi(argv[i]); lag > 0) lags.push_back(lag);
  }
  std::printf(
      "| L | thousand steps, by seed | median | max | x L = 0 | solved | eval >= 475 | us a "
      "trained "
      "step |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  double fresh = 0;
  for (const int lag : lags) {
    const double median = Row(settings, lag, seeds, fresh);
    if (lag == 0) fresh = median;
  }
  return 0;
}
