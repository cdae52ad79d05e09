// The same training twice, and with and without graphs, gives the same bits.
#include <gtest/gtest.h>

#include <set>

#include "server/device/device_trainer.h"
#include "server/learn/batch_planner.h"
#include "server/learn/rates.h"
#include "server/network/actor_critic.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/held_memory.h"
#include "tests/device/random_batch.h"
#include "tests/device/test_device.h"
#include "tests/device/without_graphs.h"

namespace murmurate {
namespace {

std::vector<ModelSpec> SmallModels() {
  std::vector<ModelSpec> models;
  for (const char* text :
       {"observation float32 4\naction discrete 2\ndense 64 tanh\ndense 64 tanh\n"
        "separate_value 1\nnormalize_observation 1\n",
        "observation uint8 10 10 3\naction discrete 4\ninput - stack 1\nconv 16 3 1 1 relu\n"
        "max_pool 2 2 0\nflatten\ntrunk\ndense 32 relu\nseparate_value 0\n"
        "normalize_observation 0\n",
        "observation float32 6\naction discrete 3\ndense 16 elu\nlstm 16\nseparate_value 0\n"
        "normalize_observation 0\n"}) {
    const auto spec = ModelSpec::Parse(std::string("murmurate-model 1\n") + text);
    EXPECT_TRUE(spec.ok()) << spec.status();
    if (spec.ok()) models.push_back(*spec);
  }
  return models;
}

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.trajectory_length = 8;
  settings.batch_steps = 64;
  settings.minibatch = 32;
  settings.epochs = 4;
  settings.entropy = 0.01;
  return settings;
}

/// The parameters after three batches of eight updates.
std::vector<float> Trained(const ModelSpec& spec, std::shared_ptr<Device> device) {
  const AlgorithmSettings settings = Settings();
  auto made = DeviceTrainer::Make(spec, settings, std::move(device));
  EXPECT_TRUE(made.ok()) << made.status();
  if (!made.ok()) return {};
  BatchTrainer& trainer = **made;
  std::vector<float> parameters(ParameterLayout(spec).total);
  InitializeParameters(spec, 3, parameters);
  trainer.SetParameters(parameters);
  BatchPlanner planner(spec, settings, 5);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const TrainingBatch batch = RandomBatch(spec, settings, i);
    (void)trainer.Open(1, false);
    trainer.Begin(batch, planner.Plan(batch, Rates::Of(settings), 0));
    const BatchSums sums = trainer.Finish();
    EXPECT_EQ(sums.updates, 8u);
    planner.Began(sums.begun);
  }
  return {trainer.parameters().begin(), trainer.parameters().end()};
}

TEST(Repeats, OfSmallModelsHaveTheSameBits) {
  for (const ModelSpec& spec : SmallModels()) {
    SCOPED_TRACE(spec.ToText());
    const std::vector<float> once = Trained(spec, MakeTestDevice());
    EXPECT_EQ(once, Trained(spec, MakeTestDevice()));
  }
}

TEST(Repeats, WithoutGraphsHaveTheSameBits) {
  for (const ModelSpec& spec : SmallModels()) {
    SCOPED_TRACE(spec.ToText());
    const std::vector<float> with = Trained(spec, MakeTestDevice());
    EXPECT_EQ(with, Trained(spec, std::make_shared<WithoutGraphs>(MakeTestDevice())));
  }
}

/// docs/gpu.md names them.
TEST(Repeats, OfAStepOfASmallNetworkAreNineLaunches) {
  for (const bool separate : {true, false})
    for (const Space& action : {Space(Discrete(2)), Space(Box({2}))}) {
      const bool numbers = action == Space(Box({2}));
      const ModelSpec spec =
          PolicyAndValue{.spaces = {Box({4}), action},
                         .trunk = {{64, Activation::kTanh}, {64, Activation::kTanh}},
                         .separate_value = separate};
      const auto device = std::make_shared<WithoutGraphs>(MakeTestDevice());
      (void)Trained(spec, device);
      constexpr int kPrepare = 4, kPrepareNumbers = 5, kStep = 9;
      EXPECT_EQ(device->nodes(), (std::set<int>{numbers ? kPrepareNumbers : kPrepare, kStep}))
          << separate << numbers;
    }
}

/// A device whose memory is nearly full.
TEST(AnyDeviceMemory, ThatDoesNotSufficeIsSaidWithEachPurpose) {
  const std::shared_ptr<Device> device = MakeTestDevice({.memory_bytes = std::size_t{16} << 20});
  {
    const HeldMemory held(device.get(), std::size_t{4} << 20);
    EXPECT_GT(held.bytes(), 0u);
    AlgorithmSettings settings = Settings();
    settings.batch_steps = settings.minibatch = 1 << 14;
    const auto made = DeviceTrainer::Make(SmallModels()[1], settings, device);
    EXPECT_EQ(made.status().code(), StatusCode::kResource);
    for (const char* part : {"parameters", "batches", "activations", "free"})
      EXPECT_NE(made.status().message().find(part), std::string::npos) << made.status();
  }
  EXPECT_EQ(Trained(SmallModels()[0], device).size(), ParameterLayout(SmallModels()[0]).total)
      << "it works on";
  EXPECT_EQ(device->error(), "");
}

}  // namespace
}  // namespace murmurate
