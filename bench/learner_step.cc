// A learner alone, nothing sent or played: what a trained step costs, take-up, returns, forward,
// loss, backward, clip and optimizer together, against one core's peak of fused multiply-adds.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "server/learn/algorithms.h"
#include "server/learn/learner.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr int kAgents = 8, kLength = 128, kSteps = kAgents * kLength;

PolicyAndValue Spec() {
  return {.spaces = {Box({4}), Discrete(2)},
          .trunk = {{64, Activation::kTanh}, {64, Activation::kTanh}},
          .separate_value = true};
}

AlgorithmSettings Settings(const AlgorithmKind* kind, int epochs, int minibatch) {
  AlgorithmSettings settings;
  settings.kind = kind;
  settings.trajectory_length = kLength;
  settings.batch_steps = kSteps;
  settings.minibatch = minibatch;
  settings.epochs = epochs;
  settings.normalize_advantage = kind->many_updates;
  settings.learning_rate = 1e-6;  // the same work at every call
  settings.max_staleness = 1 << 30;
  return settings;
}

TrainingBatch MakeBatch(const ModelSpec& spec) {
  TrainingBatch batch(TrajectoryLayout(spec.spaces, kLength), kAgents);
  Random random(1);
  std::vector<float> observation(4 * kLength), reward(kLength, 1.0f), next(4, 0.1f);
  std::vector<float> log_prob(kLength, std::log(0.5f));
  std::vector<std::int32_t> action(kLength);
  const std::vector<std::uint8_t> flags(kLength, 0);
  for (float& number : observation) number = static_cast<float>(random.Normal());
  for (std::int32_t& choice : action) choice = static_cast<std::int32_t>(random.UniformInt(2));
  for (std::uint32_t agent = 0; agent < kAgents; ++agent) {
    TrajectoryView view;
    view.agent = agent;
    view.version = 1;
    view.steps = kLength;
    view.observation = RowsOf(observation);
    view.action = action;
    view.log_prob = log_prob;
    view.reward = reward;
    view.flags = flags;
    view.next_observation = RowsOf(next);
    batch.Add(view);
  }
  return batch;
}

void Measure(const AlgorithmKind* kind, int epochs, int minibatch) {
  const PolicyAndValue spec = Spec();
  Learner learner(spec, Settings(kind, epochs, minibatch), 1);
  TrainingBatch batch = MakeBatch(spec);
  double seconds = 1e9, peak = 0;
  for (int turn = 0; turn < 5; ++turn) {
    peak = std::max(peak, MeasureFmaPeak());
    seconds = std::min(seconds, SecondsPerCall([&] { (void)learner.Learn(batch, kSteps); }));
  }
  const double flops = ActorCritic(spec, 1).flops_per_row() * kSteps * epochs;
  Print({.name = kind->name + ", " + std::to_string(epochs) + " epochs, minibatch " +
                 std::to_string(minibatch) + ": " +
                 std::to_string(static_cast<int>(kSteps / seconds * 1e-3)) + " thousand steps/s",
         .unit = "GFLOP/s",
         .ours = flops / seconds * 1e-9,
         .limit = peak * 1e-9,
         .target = 0});
}

}  // namespace
}  // namespace murmurate

int main() {
  using murmurate::AlgorithmNamed;
  murmurate::Measure(AlgorithmNamed("impala"), 1, murmurate::kSteps);
  murmurate::Measure(AlgorithmNamed("a2c"), 1, murmurate::kSteps);
  murmurate::Measure(AlgorithmNamed("ppo"), 4, 128);
}
