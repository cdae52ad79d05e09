// Training on pictures on a device: gathered in blocks (server/device/device_input.h), of float32 and of
// bf16, beside the processor.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "server/device/device_trainer.h"
#include "server/device/device_trainers.h"
#include "server/learn/algorithms.h"
#include "server/learn/batch_planner.h"
#include "server/learn/host_trainer.h"
#include "server/network/actor_critic.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/random_batch.h"
#include "tests/device/test_device.h"

namespace murmurate {
namespace {

std::vector<Layer> Layers(std::initializer_list<const char*> texts) {
  std::vector<Layer> layers;
  for (const char* text : texts) layers.push_back(*Layer::Parse(text));
  return layers;
}

/// Frames in blocks of 2 x 2, beside numbers, and frames as they are.
ModelSpec SpecOfTwoCameras() {
  const Space inputs =
      Dict({{"camera", Image({6, 8, 2})}, {"small", Image({5, 5, 1})}, {"place", Box({3})}});
  const InputEncoder camera{.input = "camera",
                            .stack = 2,
                            .layers = Layers({"conv 4 4 2 0 elu", "conv 3 2 1 0 tanh", "flatten"})},
      small{.input = "small",
            .stack = 3,
            .layers = Layers({"conv 4 3 1 1 tanh", "max_pool 2 2 0", "flatten"})};
  return PolicyAndValue{.spaces = {inputs, Discrete(3)},
                        .trunk = Layers({"dense 8 tanh"}),
                        .encoders = {camera, small}};
}

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed("ppo");
  settings.trajectory_length = 8;
  settings.batch_steps = settings.minibatch = 32;
  settings.epochs = 1;
  settings.optimizer = OptimizerSettings::Name::kSgd;
  settings.learning_rate = 1.0;
  settings.max_grad_norm = 0.0;
  return settings;
}

std::vector<float> FirstParameters(const ModelSpec& spec) {
  std::vector<float> parameters(ParameterLayout(spec).total);
  InitializeParameters(spec, 3, parameters);
  return parameters;
}

/// Where one step leads.
std::vector<float> AfterOneStep(const ModelSpec& spec, BatchTrainer* trainer) {
  TrainingBatch batch = RandomBatch(spec, Settings(), 17, true);
  BatchPlanner planner(spec, Settings(), 5);
  trainer->SetParameters(FirstParameters(spec));
  (void)trainer->Open(1, false);
  trainer->Begin(batch, planner.Plan(batch, Rates::Of(Settings()), 0));
  EXPECT_EQ(trainer->Finish().updates, 1u);
  return {trainer->parameters().begin(), trainer->parameters().end()};
}
std::vector<float> AfterOneStepOnADevice(const ModelSpec& spec, ElementType pictures) {
  HostDeviceOptions options;
  options.pictures = pictures;
  auto trainer = DeviceTrainer::Make(spec, Settings(), MakeTestDevice(std::move(options)));
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  return AfterOneStep(spec, trainer->get());
}

/// The largest difference of a tensor's steps over its largest step, over all tensors.
double Apart(const ModelSpec& spec, const std::vector<float>& got,
             const std::vector<float>& expected) {
  const ParameterLayout layout(spec);
  const std::vector<float> before = FirstParameters(spec);
  double worst = 0;
  for (const TensorSlot& tensor : layout.tensors) {
    if (tensor.section == Section::kStatistics) continue;
    double largest = 1e-6, apart = 0;
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.count; ++i) {
      largest = std::max(largest, std::abs(double{expected[i]} - before[i]));
      apart = std::max(apart, std::isfinite(got[i]) ? std::abs(double{got[i]} - expected[i]) : 1e9);
    }
    worst = std::max(worst, apart / largest);
  }
  return worst;
}

TEST(PictureTraining, InBlocksIsTheProcessors) {
  const ModelSpec spec = SpecOfTwoCameras();
  HostTrainer host(spec, Settings());
  const std::vector<float> expected = AfterOneStep(spec, &host);
  EXPECT_LT(Apart(spec, AfterOneStepOnADevice(spec, ElementType::kFloat32), expected), 1e-4);
}

TEST(PictureTraining, OfBf16IsWithinItsRounding) {
  const ModelSpec spec = SpecOfTwoCameras();
  HostTrainer host(spec, Settings());
  const std::vector<float> expected = AfterOneStep(spec, &host);
  const double apart = Apart(spec, AfterOneStepOnADevice(spec, ElementType::kBf16), expected);
  // Three layers that round (the pictures, and two of each encoder), as in bf16_test.cc.
  EXPECT_LT(apart, 2 * 3 * 3 / 256.0);
  EXPECT_GT(apart, 1e-4) << "nothing was rounded";
}

TEST(PictureTraining, OfBf16HasTheSameBitsEachTime) {
  const ModelSpec spec = SpecOfTwoCameras();
  EXPECT_EQ(AfterOneStepOnADevice(spec, ElementType::kBf16),
            AfterOneStepOnADevice(spec, ElementType::kBf16));
}

TEST(PictureTraining, OfBf16IsCountedByThePlan) {
  const ModelSpec spec = SpecOfTwoCameras();
  const DeviceMemoryNeed floats = MeasureDeviceMemory(spec, Settings()),
                         halves = MeasureDeviceMemory(spec, Settings(), true,
                                                      {.pictures = ElementType::kBf16});
  const auto activations = static_cast<std::size_t>(MemoryPurpose::kActivations);
  EXPECT_LT(halves.by_purpose[activations], floats.by_purpose[activations]);
  for (const MemoryPurpose same :
       {MemoryPurpose::kParameters, MemoryPurpose::kBatches, MemoryPurpose::kWorkspace})
    EXPECT_EQ(halves.by_purpose[static_cast<std::size_t>(same)],
              floats.by_purpose[static_cast<std::size_t>(same)]);
}

}  // namespace
}  // namespace murmurate
