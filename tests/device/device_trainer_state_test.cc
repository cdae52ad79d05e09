// What a DeviceTrainer keeps: of the device while shapes change, and of the model where the device
// fails.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <set>

#include "server/device/device_trainer.h"
#include "server/device/device_trainers.h"
#include "server/learn/batch_planner.h"
#include "server/learn/rates.h"
#include "server/network/actor_critic.h"
#include "server/parameters/local_store.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/forwarding_device.h"
#include "tests/device/host_device.h"
#include "tests/device/random_batch.h"

namespace murmurate {
namespace {

ModelSpec SmallSpec() {
  return PolicyAndValue{.spaces = {Box({4}), Discrete(2)},
                        .trunk = {*Layer::Parse("dense 8 tanh")},
                        .normalize_observation = true};
}

AlgorithmSettings SmallSettings() {
  AlgorithmSettings settings;
  settings.trajectory_length = 8;
  settings.batch_steps = 32;
  settings.minibatch = 12;
  settings.epochs = 2;
  return settings;
}

/// A trainer on a host device, and what it is trained with.
struct Training {
  explicit Training(HostDeviceOptions options = {},
                    std::unique_ptr<ParameterStore> store = nullptr) {
    device = std::make_shared<HostDevice>(std::move(options));
    auto made = DeviceTrainer::Make(spec, settings, device, std::move(store));
    EXPECT_TRUE(made.ok()) << made.status();
    trainer = *std::move(made);
    std::vector<float> beginning(ParameterLayout(spec).total);
    InitializeParameters(spec, 3, beginning);
    trainer->SetParameters(beginning);
  }

  void Fit(int trajectories) {
    settings = WithShape(SmallSettings(), {8, trajectories}, false);
    planner = BatchPlanner(spec, settings, 5);
    trainer->Fit(settings);
  }
  /// `ahead`: the batch travels before it is begun.
  BatchSums Train(std::uint64_t seed, bool ahead = true) {
    const TrainingBatch batch = RandomBatch(spec, settings, seed);
    if (ahead) trainer->Prefetch(batch);
    (void)trainer->Open(1, false);
    trainer->Begin(batch, planner.Plan(batch, Rates::Of(settings), 0));
    const BatchSums sums = trainer->Finish();
    planner.Began(sums.begun);
    return sums;
  }
  std::vector<float> parameters() const {
    return {trainer->parameters().begin(), trainer->parameters().end()};
  }
  SavedState Saved() const {
    SavedState state;
    trainer->Save(&state);
    return state;
  }

  const ModelSpec spec = SmallSpec();
  AlgorithmSettings settings = SmallSettings();
  BatchPlanner planner{spec, settings, 5};
  std::shared_ptr<HostDevice> device;
  std::unique_ptr<BatchTrainer> trainer;
};

std::unique_ptr<ParameterStore> StoreOf(const ModelSpec& spec, const AlgorithmSettings& settings) {
  const ParameterLayout layout(spec);
  return std::make_unique<LocalStore>(
      MakeOptimizer(OptimizerOf(settings), layout, {0, layout.trained_count()}),
      settings.max_grad_norm);
}

TEST(DeviceTrainer, GivesTheDeviceBackWhatAnotherShapeNeeded) {
  using Held = std::array<std::size_t, 4>;
  Training training;
  std::map<int, Held> held;
  for (int change = 0; change < 8; ++change) {
    const int trajectories = change % 2 == 0 ? 4 : 6;
    training.Fit(trajectories);
    for (std::uint64_t batch = 0; batch < 3; ++batch) (void)training.Train(batch);
    const HostDevice& device = *training.device;
    const Held now{device.events(), device.graphs(), device.blocks(), device.pinned_bytes()};
    EXPECT_EQ(held.emplace(trajectories, now).first->second, now) << "change " << change;
  }
  EXPECT_GT(training.device->graphs(), 0u);
  training.trainer.reset();
  EXPECT_EQ(training.device->events(), 0u);
  EXPECT_EQ(training.device->graphs(), 0u);
  EXPECT_EQ(training.device->blocks(), 0u);
  EXPECT_EQ(training.device->pinned_bytes(), 0u);
}

/// Whatever of it the device has done when the next is enqueued.
TEST(DeviceTrainer, GoesOnFromWhatItSaved) {
  for (std::uint64_t seed = 7; seed < 12 * 8; seed += 8) {
    Training whole({.seed = seed}), resumed({.seed = seed});
    for (std::uint64_t batch = 0; batch < 2; ++batch) (void)whole.Train(batch);
    resumed.trainer->SetParameters(whole.trainer->parameters());
    EXPECT_TRUE(resumed.trainer->Load(whole.Saved()).ok());
    whole.planner = BatchPlanner(whole.spec, whole.settings, 5);
    EXPECT_EQ(whole.Train(2).updates, resumed.Train(2, false).updates);
    EXPECT_EQ(whole.parameters(), resumed.parameters());
  }
}

/// Room on the device for batches of one shape, and not for larger ones.
TEST(DeviceTrainer, KeepsWhatItHasWhereALargerBatchDoesNotFit) {
  Training training({.memory_bytes = MeasureDeviceMemory(SmallSpec(), SmallSettings()).total});
  const std::vector<float> beginning = training.parameters();
  EXPECT_GT(training.Train(3).updates, 0u);
  const std::vector<float> after = training.parameters();
  const SavedState before = training.Saved();

  training.trainer->Fit(WithShape(training.settings, {8, 400}, false));
  const Status health = training.trainer->Health();
  EXPECT_EQ(health.code(), StatusCode::kResource);
  EXPECT_NE(health.message().find("are needed"), std::string::npos) << health;
  EXPECT_EQ(training.Train(4).updates, 0u);
  EXPECT_FALSE(training.trainer->GoBack(beginning));
  EXPECT_EQ(training.parameters(), after);
  SavedState later = before;  // of another checkpoint
  for (auto& [name, numbers] : later.floats) numbers.assign(numbers.size(), 7.0f);
  training.trainer->Save(&later);
  EXPECT_EQ(later, before);
}

/// The device is lost at one call of a batch after another; of the batch before it everything is
/// there.
TEST(DeviceTrainer, BesideAStoreHasTheLastFinishedBatchWhereTheDeviceFails) {
  int failed_inside = 0;
  for (std::uint64_t calls = 0; calls < 60; ++calls) {
    SCOPED_TRACE(testing::Message() << "lost after " << calls << " calls");
    Training training({}, StoreOf(SmallSpec(), SmallSettings()));
    EXPECT_GT(training.Train(3).updates, 0u);
    const std::vector<float> parameters = training.parameters();
    const SavedState state = training.Saved();
    training.device->FailAfter(calls);
    const BatchSums sums = training.Train(4);
    if (training.trainer->Health().ok()) break;
    failed_inside += sums.updates > 0;
    EXPECT_EQ(training.trainer->Health().message(), "host device: the device was lost");
    EXPECT_EQ(training.parameters(), parameters);
    EXPECT_EQ(training.Saved(), state);
    (void)training.Train(5);
    EXPECT_EQ(training.parameters(), parameters);
    EXPECT_EQ(training.Saved(), state);
    EXPECT_FALSE(training.trainer->GoBack(parameters));
  }
  EXPECT_GT(failed_inside, 0);
}

/// Notes which libraries a device is asked for.
class Noting : public ForwardingDevice {
 public:
  explicit Noting(HostDevice* device) : ForwardingDevice(device) {}
  void Multiply(Stream stream, const ProductCall& call) override {
    products = kProductWorkspaceBytes;
    ForwardingDevice::Multiply(stream, call);
  }
  void Convolve(Stream stream, const ConvolutionCall& call) override {
    convolutions = kConvolutionWorkspaceBytes;
    ForwardingDevice::Convolve(stream, call);
  }
  std::size_t products = 0, convolutions = 0;
};

TEST(DeviceTrainer, TakesMemoryOfTheLibrariesThatItCalls) {
  std::set<std::size_t> seen;
  for (const char* layers : {"dense 8 tanh\n", "dense 400 tanh\n", "lstm 4\n",
                             "conv 4 3 1 0 relu\nflatten\ntrunk\ndense 400 relu\n",
                             "conv 4 3 1 0 relu\nflatten\ntrunk\n"}) {
    SCOPED_TRACE(layers);
    const bool pictures = std::string_view(layers).starts_with("conv");
    const auto spec =
        ModelSpec::Parse(std::string("murmurate-model 1\nobservation ") +
                         (pictures ? "uint8 6 6 1\naction discrete 2\ninput - stack 1\n"
                                   : "float32 4\naction discrete 2\n") +
                         layers + "separate_value 0\nnormalize_observation 0\n");
    ASSERT_TRUE(spec.ok()) << spec.status();
    AlgorithmSettings settings = SmallSettings();
    settings.minibatch = 16;
    HostDevice host;
    const auto device = std::make_shared<Noting>(&host);
    auto trainer = DeviceTrainer::Make(*spec, settings, device);
    ASSERT_TRUE(trainer.ok()) << trainer.status();
    BatchPlanner planner(*spec, settings, 5);
    const TrainingBatch batch = RandomBatch(*spec, settings, 3);
    (void)(*trainer)->Open(1, false);
    (*trainer)->Begin(batch, planner.Plan(batch, Rates::Of(settings), 0));
    EXPECT_GT((*trainer)->Finish().updates, 0u);
    const DeviceMemoryNeed need = MeasureDeviceMemory(*spec, settings);
    const std::size_t libraries =
        need.by_purpose[static_cast<std::size_t>(MemoryPurpose::kLibraries)];
    EXPECT_EQ(libraries, device->products + device->convolutions);
    EXPECT_EQ(std::accumulate(need.by_purpose.begin(), need.by_purpose.end(), std::size_t{0}),
              need.total);
    seen.insert(libraries);
  }
  EXPECT_GE(seen.size(), 3u) << "none, products, convolutions, too";
}

}  // namespace
}  // namespace murmurate
