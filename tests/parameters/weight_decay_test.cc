// Kernels decay and nothing else does, wherever a block is stepped.
#include "server/parameters/weight_decay.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "server/parameters/local_store.h"
#include "server/parameters/optimizers.h"
#include "server/parameters/tensor_ranges.h"
#include "tests/compute/torch_fixture.h"
#include "tests/parameters/live_cluster.h"

namespace murmurate {
namespace {

using Name = OptimizerSettings::Name;

std::vector<float> Copy(std::span<const float> values) { return {values.begin(), values.end()}; }

ParameterLayout LayoutOfEveryKind() {
  const auto spec = ModelSpec::Parse(
      "murmurate-model 2\nobservation float32 5\naction continuous 2\n"
      "normalize_observation 0\nstate_dependent_deviation 0\nsquashed 0\nnetworks 3\n"
      "network policy published trained\ndense 4 tanh\nlayer_norm\nlstm 3\ngru 2\nhead action\n"
      "network value trained\ndense 6 relu\nhead 1\nnetwork old follows value\n");
  EXPECT_TRUE(spec.ok()) << spec.status();
  return ParameterLayout(*spec);
}

class WeightDecayOf : public testing::TestWithParam<Name> {};
INSTANTIATE_TEST_SUITE_P(, WeightDecayOf,
                         testing::Values(Name::kAdam, Name::kRmsProp, Name::kSgd, Name::kMomentum,
                                         Name::kAdagrad),
                         [](const auto& test) { return std::string(TextOf(test.param)); });

/// p <- (1 - 1/2 * 1/2) p, and no gradient.
TEST_P(WeightDecayOf, KernelsDecayAndBiasesGainsAndDeviationsDoNot) {
  const ParameterLayout layout = LayoutOfEveryKind();
  const std::size_t trained = layout.trained_count();
  const auto optimizer =
      MakeOptimizer({.name = GetParam(), .weight_decay = 0.5f}, layout, {0, trained});
  std::vector<float> parameters(trained, 1.0f);
  optimizer->Step(0.5f, 1.0f, std::vector<float>(trained), parameters);
  EXPECT_EQ(optimizer->steps(), 1u);
  for (const TensorSlot& tensor : layout.tensors) {
    if (tensor.offset >= trained) continue;
    const bool kernel = tensor.name.ends_with("weight");
    const auto part = std::span(parameters).subspan(tensor.offset, tensor.count);
    EXPECT_THAT(Copy(part), testing::Each(kernel ? 0.75f : 1.0f)) << tensor.name;
  }
}

TEST_P(WeightDecayOf, ShardsOfOneModelHaveTheBitsOfTheLocalStore) {
  const OptimizerSettings optimizer{.name = GetParam(), .weight_decay = 0.1f};
  Bowl here(7);
  LocalStore local(MakeOptimizer(optimizer, here.layout, {0, here.target.size()}), 0.4);
  ASSERT_TRUE(here.Descend(local, 0.05, 40));
  Bowl plain(7);
  LocalStore undecayed(MakeOptimizer({.name = GetParam()}, plain.target.size()), 0.4);
  ASSERT_TRUE(plain.Descend(undecayed, 0.05, 40));
  EXPECT_NE(Copy(plain.trained()), Copy(here.trained()));
  ShardSettings settings;
  settings.rule = {.name = RuleName::kAsgd, .form = PushForm::kGradient, .window = 1};
  settings.optimizer = optimizer;
  for (const int shards : {1, 2, 3}) {
    Bowl there(7);
    LiveCluster cluster(Transport::kMessages, settings, shards);
    cluster.remote.max_grad_norm = 0.4;
    const auto worker = cluster.NewWorker(0);
    ASSERT_TRUE(there.Descend(*worker, 0.05, 40)) << cluster.failure;
    EXPECT_EQ(Copy(there.trained()), Copy(here.trained())) << shards;
  }
}

TEST_P(WeightDecayOf, NothingIsBeforeAnOptimizerThatDoesNotDecay) {
  const auto optimizer = MakeOptimizer({.name = GetParam()}, LayoutOfEveryKind(), {0, 64});
  EXPECT_EQ(dynamic_cast<const WeightDecay*>(optimizer.get()), nullptr);
}

TEST(WeightDecay, ARangeHasThePartsOfTheKernelsThatLieInIt) {
  const ParameterLayout layout(SmallSpec());
  // policy.0.weight [4][16] at 0, its bias at 64, policy.head.weight [16][2] at 80.
  const std::vector<SectionRange> kernels = RangesOf(layout, {32, 64}, IsKernel);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].offset, 0u);
  EXPECT_EQ(kernels[0].count, 32u);
  EXPECT_EQ(kernels[1].offset, 48u);
  EXPECT_EQ(kernels[1].count, 16u);
  EXPECT_TRUE(RangesOf(layout, {64, 16}, IsKernel).empty());
}

TEST(WeightDecay, ThreeStepsOfAdamAreThoseOfTorchAdamW) {
  const TorchFixture torch("adamw");
  std::vector<float> parameters = torch.Floats("start");
  const std::size_t count = parameters.size();
  WeightDecay optimizer(std::make_unique<Adam>(AdamSettings{}, count), 0.05f, {{0, count}});
  for (int t = 1; t <= 3; ++t) {
    const std::string step = std::to_string(t);
    optimizer.Step(1e-2f, 1.0f, torch.Floats("gradient." + step), parameters);
    ExpectClose(parameters, torch.Doubles("parameters." + step), 1e-7, 1e-6, "step " + step);
  }
}

TEST(WeightDecay, WhatTheOptimizerKeepsIsSavedUnderItsNames) {
  const ParameterLayout layout(SmallSpec());
  SavedState with, without;
  MakeOptimizer({.weight_decay = 0.1f}, layout, {0, 64})->Save(StateWriter(&with, "o"));
  MakeOptimizer({}, layout, {0, 64})->Save(StateWriter(&without, "o"));
  EXPECT_EQ(with.floats, without.floats);
  EXPECT_EQ(with.words, without.words);
}

}  // namespace
}  // namespace murmurate
