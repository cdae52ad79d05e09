#include "tests/device/replay_cases.h"

#include <gtest/gtest.h>

#include "server/learn/algorithms.h"
#include "server/network/actor_critic.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/random_batch.h"

namespace murmurate {
namespace {

AlgorithmSettings Settings(const char* kind) {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed(kind);
  settings.trajectory_length = 4;  // of windows
  settings.batch_steps = 4 * 33;
  settings.normalize_reward = false;
  settings.n_step = 3;
  settings.gamma = 0.9;
  settings.max_grad_norm = 10;
  settings.target_every = 3;
  settings.target_part = 0.3;
  settings.replay.minibatch = 7;
  settings.replay.most_updates = 3;  // of the 5 of a batch
  settings.replay.priority_exponent = 0.6;
  return settings;
}

ReplayCase CaseOf(std::string name, const char* kind, const PolicyAndValue& model,
                  bool masks = false) {
  const AlgorithmSettings settings = Settings(kind);
  auto spec = settings.kind->networks(model.ToSpec(), settings);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return {std::move(name), *std::move(spec), settings, masks};
}

std::vector<Layer> Layers(std::initializer_list<const char*> texts) {
  std::vector<Layer> layers;
  for (const char* text : texts) layers.push_back(*Layer::Parse(text));
  return layers;
}

}  // namespace

std::vector<ReplayCase> ChoiceCases() {
  std::vector<ReplayCase> cases;
  cases.push_back(CaseOf(
      "small", "dqn",
      {.spaces = {Box({4}), Discrete(3)}, .trunk = Layers({"dense 16 tanh", "dense 8 relu"})}));
  cases.push_back(CaseOf("branches, masked, normalized", "dqn",
                         {.spaces = {Box({3}), MultiDiscrete({3, 4})},
                          .trunk = Layers({"dense 16 elu"}),
                          .normalize_observation = true},
                         true));
  const Space inputs = Dict({{"camera", Image({6, 6, 2})}, {"place", Box({3})}});
  cases.push_back(CaseOf(
      "pictures and numbers, stacked", "dqn",
      {.spaces = {inputs, Discrete(4)},
       .trunk = Layers({"dense 16 relu", "layer_norm"}),
       .normalize_observation = true,
       .encoders = {
           {.input = "camera", .stack = 3, .layers = Layers({"conv 4 3 1 1 relu", "flatten"})},
           {.input = "place", .stack = 2, .layers = {}}}}));
  cases.back().settings.double_q = false;
  cases.back().settings.target_part = 1.0;
  return cases;
}

std::vector<ReplayCase> SoftCases() {
  std::vector<ReplayCase> cases;
  cases.push_back(CaseOf(
      "one number", "sac",
      {.spaces = {Box({4}), Box({1}, -2, 2)}, .trunk = Layers({"dense 16 relu", "dense 8 tanh"})}));
  const Space inputs = Dict({{"camera", Image({6, 6, 2})}, {"place", Box({3})}});
  cases.push_back(CaseOf(
      "three numbers from pictures and numbers", "sac",
      {.spaces = {inputs, Dict({{"move", Box({2}, -1, 1)}, {"turn", Box({1}, -3, 1)}})},
       .trunk = Layers({"dense 16 elu", "layer_norm", "dense 8 relu"}),
       .normalize_observation = true,
       .encoders = {
           {.input = "camera", .stack = 2, .layers = Layers({"conv 4 3 1 1 relu", "flatten"})}}}));
  for (ReplayCase& one : cases) {
    one.settings.policy.initial_temperature = 0.3;
    one.settings.max_grad_norm = 0;
    one.settings.target_every = 1;
    one.settings.target_part = 0.05;
  }
  return cases;
}

TrainingBatch ReplayWindows(const ReplayCase& one, std::uint64_t seed) {
  TrainingBatch batch = RandomBatch(one.spec, one.settings, seed, one.masks);
  std::ranges::fill(batch.weight, 0.0f);
  for (int slot = 0; slot < batch.capacity; ++slot)
    batch.weight[static_cast<std::size_t>(slot * batch.length)] =
        0.4f + 0.1f * static_cast<float>(slot % 7);
  for (float& reward : batch.reward) reward *= 3.0f;  // beyond Huber's bend, too
  batch.samples = TrainingBatch::Samples::kReplayed;
  batch.learned = true;
  return batch;
}

std::vector<float> ParametersApart(const ModelSpec& spec) {
  std::vector<float> parameters(ParameterLayout(spec).total);
  InitializeParameters(spec, 3, parameters, {Initializer::kXavier});
  const ParameterLayout layout(spec);
  Random random(5);
  for (const TensorSlot& tensor : layout.tensors)
    if (tensor.section != Section::kStatistics)
      for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i)
        parameters[i] += 0.2f * (random.Uniform() - 0.5f);
  return parameters;
}

}  // namespace murmurate
