// Rewards of any size, seed by seed: steps to a rollout mean of 475 on CartPole when a step's
// reward reaches the learner as 0.001, 1 or 1000, as it is and normalized.
//
//   bench_reward_sizes [SEEDS] [MOST_STEPS]      (5 seeds, 400000 steps)
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/learn/in_process_training.h"

namespace {

void Row(double size, bool normalize, int seeds, std::uint64_t most) {
  murmurate::InProcessSettings settings = murmurate::CartPoleSettings();
  settings.reward_times = size;
  settings.max_steps = most;
  settings.algorithm.normalize_reward = normalize;
  settings.algorithm.reward_clip = normalize ? 10.0 : 0.0;
  std::printf("| %g | %s |", size, normalize ? "normalized" : "as it is");
  for (int seed = 1; seed <= seeds; ++seed) {
    const murmurate::TrainingOutcome outcome = murmurate::TrainInProcess(settings, seed);
    if (outcome.solved)
      std::printf(" %.0f", static_cast<double>(outcome.steps) / 1e3);
    else
      std::printf(" never");
    std::fflush(stdout);
  }
  std::printf(" |\n");
}

}  // namespace

int main(int argc, char** argv) {
  const int seeds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  const int most = argc > 2 ? std::max(1, std::atoi(argv[2])) : 400'000;
  std::printf("| reward | in the learner | thousand steps, by seed |\n| --- | --- | --- |\n");
  for (const double size : {0.001, 1.0, 1000.0})
    for (const bool normalize : {false, true})
      Row(size, normalize, seeds, static_cast<std::uint64_t>(most));
  return 0;
}
