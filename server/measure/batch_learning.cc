#include "server/measure/batch_learning.h"

#include <cmath>
#include <vector>

#include "server/learn/algorithms.h"
#include "server/network/actor_critic.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

PolicyAndValue Spec() {
  return {.spaces = {Box({4}), Discrete(2)},
          .trunk = {{64, Activation::kTanh}, {64, Activation::kTanh}},
          .separate_value = true};
}

AlgorithmSettings Settings(const AlgorithmKind* kind, int epochs, int minibatch) {
  AlgorithmSettings settings;
  settings.kind = kind;
  settings.trajectory_length = BatchLearning::kLength;
  settings.batch_steps = BatchLearning::kSteps;
  settings.minibatch = minibatch;
  settings.epochs = epochs;
  settings.normalize_advantage = kind->many_updates;
  settings.learning_rate = 1e-6;  // the same work at every call
  settings.max_staleness = 1 << 30;
  return settings;
}

TrainingBatch MakeBatch(const ModelSpec& spec) {
  TrainingBatch batch(TrajectoryLayout(spec.spaces, BatchLearning::kLength),
                      BatchLearning::kAgents);
  Random random(1);
  std::vector<float> observation(4 * BatchLearning::kLength), reward(BatchLearning::kLength, 1.0f),
      next(4, 0.1f);
  std::vector<float> log_prob(BatchLearning::kLength, std::log(0.5f));
  std::vector<std::int32_t> action(BatchLearning::kLength);
  const std::vector<std::uint8_t> flags(BatchLearning::kLength, 0);
  for (float& number : observation) number = static_cast<float>(random.Normal());
  for (std::int32_t& choice : action) choice = static_cast<std::int32_t>(random.UniformInt(2));
  for (std::uint32_t agent = 0; agent < BatchLearning::kAgents; ++agent) {
    TrajectoryView view;
    view.agent = agent;
    view.version = 1;
    view.steps = BatchLearning::kLength;
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

}  // namespace

BatchLearning::BatchLearning(const AlgorithmKind* kind, int epochs, int minibatch)
    : spec_(Spec()),
      learner_(spec_, Settings(kind, epochs, minibatch), 1),
      batch_(MakeBatch(spec_)),
      flops_(ActorCritic(spec_, 1).flops_per_row() * kSteps * epochs) {}

}  // namespace murmurate
