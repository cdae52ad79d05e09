// Learners of a replay on a device and on this processor, side by side, from the same batches and
// plans: batches as a replay gives them, and new ones, whose errors are first priorities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "server/device/device_trainers.h"
#include "server/learn/algorithms.h"
#include "server/learn/host_trainer.h"
#include "server/learn/rates.h"
#include "server/learn/replay_planner.h"
#include "server/network/actor_critic.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/random_batch.h"
#include "tests/device/test_device.h"

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

struct Case {
  std::string name;
  ModelSpec spec;
  AlgorithmSettings settings;
  bool masks = false;
};

Case CaseOf(std::string name, const char* kind, const PolicyAndValue& model, bool masks = false) {
  const AlgorithmSettings settings = Settings(kind);
  auto spec = settings.kind->networks(model.ToSpec());
  EXPECT_TRUE(spec.ok()) << spec.status();
  return {std::move(name), *std::move(spec), settings, masks};
}

std::vector<Layer> Layers(std::initializer_list<const char*> texts) {
  std::vector<Layer> layers;
  for (const char* text : texts) layers.push_back(*Layer::Parse(text));
  return layers;
}

std::vector<Case> ChoiceCases() {
  std::vector<Case> cases;
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
       .encoders = {{.input = "camera", .stack = 3, .layers = Layers({"conv 4 3 1 1 relu", "flatten"})},
                    {.input = "place", .stack = 2, .layers = {}}}}));
  cases.back().settings.double_q = false;
  cases.back().settings.target_part = 1.0;
  return cases;
}

/// A batch of windows as a replay gives it: a weight in the first row of each.
TrainingBatch Windows(const Case& one, std::uint64_t seed) {
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

/// The largest difference of a tensor over its largest value, over all tensors.
double Distance(const ParameterLayout& layout, std::span<const float> expected,
                std::span<const float> got, std::string* where) {
  double worst = 0.0;
  for (const TensorSlot& tensor : layout.tensors) {
    double largest = 1e-3, apart = 0.0;
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
      largest = std::max(largest, std::abs(double{expected[i]}));
      apart = std::max(apart, std::isfinite(got[i]) ? std::abs(double{expected[i]} - got[i]) : 1e9);
    }
    if (apart / largest <= worst) continue;
    worst = apart / largest;
    *where = tensor.name;
  }
  return worst;
}

/// Parameters whose targets are others than what they follow.
std::vector<float> Beginning(const ModelSpec& spec) {
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

struct Pair {
  explicit Pair(const Case& one, HostDeviceOptions options = {})
      : layout(one.spec),
        processor(MakeTestDevice(std::move(options))),
        planner(one.settings, 5),
        rates(Rates::Of(one.settings)),
        host(std::make_unique<HostTrainer>(one.spec, one.settings)) {
    auto made = MakeDeviceTrainer(one.spec, one.settings, processor);
    EXPECT_TRUE(made.ok()) << made.status();
    device = *std::move(made);
    const std::vector<float> parameters = Beginning(one.spec);
    host->SetParameters(parameters);
    device->SetParameters(parameters);
  }
  ~Pair() { EXPECT_THAT(UnwrittenOn(*processor), testing::IsEmpty()); }

  void Train(const TrainingBatch& batch, double rate_factor = 1.0) {
    const BatchPlan& plan = planner.Plan(batch, rates, 0, rate_factor);
    BatchSums sums[2];
    std::vector<float> answers[2];
    for (int i = 0; i < 2; ++i) {
      BatchTrainer& trainer = i == 0 ? *host : *device;
      version = trainer.Open(1, plan.scores).value();
      trainer.Begin(batch, plan);
      sums[i] = trainer.Finish();
      answers[i].assign(sums[i].row_answers.begin(), sums[i].row_answers.end());
    }
    planner.Began(sums[0].begun);
    updates += sums[0].updates;
    EXPECT_EQ(sums[0].begun, sums[1].begun);
    EXPECT_EQ(sums[0].updates, sums[1].updates);
    EXPECT_EQ(sums[0].skipped, sums[1].skipped);
    EXPECT_EQ(sums[0].version, sums[1].version);
    EXPECT_NEAR(sums[0].norms, sums[1].norms, 1e-3 * (1.0 + sums[0].norms));
    for (std::size_t i = 0; i < sums[0].algorithm.size(); ++i)
      EXPECT_NEAR(sums[0].algorithm[i], sums[1].algorithm[i],
                  2e-4 * (1.0 + std::abs(sums[0].algorithm[i])))
          << "sum " << i;
    ASSERT_EQ(answers[0].size(), plan.rows.size());
    ASSERT_EQ(answers[0].size(), answers[1].size());
    for (std::size_t i = 0; i < answers[0].size(); ++i)
      EXPECT_NEAR(answers[0][i], answers[1][i], 2e-4 * (1.0 + answers[0][i])) << "row " << i;
  }
  void ExpectClose(double most) const {
    std::string where;
    EXPECT_LT(Distance(layout, host->parameters(), device->parameters(), &where), most) << where;
  }

  const ParameterLayout layout;
  const std::shared_ptr<Device> processor;
  ReplayPlanner planner;
  Rates rates;
  std::unique_ptr<BatchTrainer> host, device;
  std::uint64_t updates = 0, version = 0;
};

/// After one step of Adam, and after a hundred plain ones.
void ExpectAgreement(Case one) {
  SCOPED_TRACE(one.name);
  {
    Case single = one;
    single.settings.batch_steps = 4 * single.settings.replay.minibatch;
    single.settings.learning_rate = 1e-3;
    single.settings.optimizer_epsilon = 1e-3;  // small gradients would show their rounding
    Pair pair(single);
    pair.Train(Windows(single, 17));
    EXPECT_EQ(pair.updates, 1u);
    pair.ExpectClose(1e-5);
  }
  one.settings.optimizer = OptimizerSettings::Name::kSgd;
  one.settings.learning_rate = 1e-2;
  const TrainingBatch batches[] = {Windows(one, 17), Windows(one, 18)};
  Pair pair(one);
  for (int i = 0; i < 20; ++i) pair.Train(batches[i % 2], 1.0 + i % 3);
  EXPECT_EQ(pair.updates, 100u);
  pair.ExpectClose(1e-4);
}

TEST(ReplayAgreement, OfChoices) {
  for (const Case& one : ChoiceCases()) ExpectAgreement(one);
}

/// Errors, statistics and versions of batches that are new, between others.
TEST(ReplayAgreement, OfNewBatches) {
  for (Case& one : ChoiceCases()) {
    SCOPED_TRACE(one.name);
    one.settings.learning_rate = 1e-3;
    one.settings.trajectory_length = 4;
    Case longer = one;
    longer.settings.trajectory_length = 8;
    longer.settings.batch_steps = 80;  // of another shape, and more rows than go up at once
    const TrainingBatch fresh = RandomBatch(longer.spec, longer.settings, 3, one.masks);
    Pair pair(one);
    for (int i = 0; i < 2; ++i) {
      pair.Train(fresh);
      pair.Train(Windows(one, 18));
    }
    EXPECT_EQ(pair.updates, 10u);
    pair.ExpectClose(1e-4);
  }
}

}  // namespace
}  // namespace murmurate
