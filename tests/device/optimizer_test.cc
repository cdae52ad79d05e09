// The optimizer on a device against LocalStore with the optimizers of server/parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "server/device/device_optimizer.h"
#include "server/learn/on_policy.h"
#include "server/learn/on_policy_sums.h"
#include "server/parameters/local_store.h"
#include "shared/core/check.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/device_blocks.h"

namespace murmurate {
namespace {

using Name = OptimizerSettings::Name;

ModelSpec SpecOf(int units) {
  return PolicyAndValue{.spaces = {Box({3}), Box({2})},
                        .trunk = {{units, Activation::kTanh}},
                        .separate_value = true};
}

AlgorithmSettings SettingsOf(Name name, double decay, double value_rate, double clip) {
  AlgorithmSettings settings;
  settings.optimizer = name;
  settings.weight_decay = decay;
  settings.value_rate_factor = value_rate;
  settings.max_grad_norm = clip;
  settings.target_kl = 0.01;
  return settings;
}

std::vector<float> Normals(std::size_t count, double scale, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(scale * random.Normal());
  return numbers;
}

constexpr float kRate = 0.01f;

/// A device with a model's parameters.
class Stepper {
 public:
  Stepper(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed,
          const std::vector<float>& parameters)
      : layout_(spec),
        blocks_(seed),
        optimizer_(layout_, settings, on_policy_sums::kPolicyGradient, blocks_.memory()) {
    blocks_.Allocate();
    parameters_ = blocks_.Put(parameters);
    TrainingControl control{};
    control.learning_rate = kRate;
    control.optimizer_steps = 99;
    control_ = blocks_.Put(control);
    optimizer_.Upload(device(), Stream::kMain);
    optimizer_.EnqueueForget(device(), Stream::kMain, control_);
  }

  /// Replays a step that was recorded before the first.
  void Step(const std::vector<float>& gradient) {
    if (graph_ < 0) Record(gradient.size());
    device()->CopyIn(Stream::kMain, gradient_, gradient.data(), gradient.size() * sizeof(float));
    device()->Replay(Stream::kMain, graph_);
    device()->Finish();
  }
  void Set(const TrainingControl& control) {
    device()->CopyIn(Stream::kMain, control_, &control, sizeof control);
    device()->Finish();
  }
  void SetRate(float rate) {
    TrainingControl now = control();
    now.learning_rate = rate;
    Set(now);
  }
  void Shorten() { optimizer_.EnqueueShorten(device(), Stream::kMain, control_, parameters_); }
  std::vector<float> State() {
    std::vector<float> state(optimizer_.state_floats());
    optimizer_.EnqueueSave(device(), Stream::kMain, state.data());
    device()->Finish();
    return state;
  }
  SavedState Save() {
    SavedState saved;
    optimizer_.Save(StateWriter(&saved, "optimizer"), State(), control().optimizer_steps);
    return saved;
  }
  Status Load(const SavedState& saved) {
    std::vector<float> state(optimizer_.state_floats());
    TrainingControl now = control();
    MURMURATE_RETURN_IF_ERROR(
        optimizer_.Load(StateReader(saved, "optimizer"), state, &now.optimizer_steps));
    optimizer_.EnqueueLoad(device(), Stream::kMain, state.data());
    Set(now);
    return {};
  }

  TestDevice* device() { return blocks_.device(); }
  std::vector<float> parameters() { return blocks_.Read(parameters_, layout_.trained_count()); }
  TrainingControl control() { return blocks_.Read(control_); }

 private:
  void Record(std::size_t count) {
    gradient_ = blocks_.Room<float>(count);
    device()->BeginGraph(Stream::kMain);
    optimizer_.EnqueueStep(device(), Stream::kMain, control_, gradient_, parameters_);
    graph_ = device()->EndGraph(Stream::kMain);
  }

  const ParameterLayout layout_;
  DeviceBlocks blocks_;
  const DeviceOptimizer optimizer_;
  float* parameters_ = nullptr;
  float* gradient_ = nullptr;
  TrainingControl* control_ = nullptr;
  DeviceGraph graph_ = -1;
};

LocalStore HostStore(const ModelSpec& spec, const AlgorithmSettings& settings) {
  const ParameterLayout layout(spec);
  return LocalStore(MakeOptimizer(OptimizerOf(settings), layout, {0, layout.trained_count()}),
                    settings.max_grad_norm);
}

/// Steps both three times, then one goes on from the other's state, both ways.
void ExpectTheSameSteps(const ModelSpec& spec, const AlgorithmSettings& settings) {
  const std::size_t count = ParameterLayout(spec).trained_count();
  std::vector<float> parameters = Normals(count, 0.5, 1);
  Stepper on_device(spec, settings, 0, parameters), again(spec, settings, 7, parameters);
  LocalStore on_host = HostStore(spec, settings);
  double norms = 0.0;
  for (std::uint64_t step = 0; step < 3; ++step) {
    const std::vector<float> gradient = Normals(count, step == 0 ? 0.01 : 1.0, 10 + step);
    const float rate = kRate / static_cast<float>(1 + step);
    norms += on_host.Step(rate, gradient, parameters);
    for (Stepper* stepper : {&on_device, &again}) {
      stepper->SetRate(rate);
      stepper->Step(gradient);
    }
    ExpectNear(on_device.parameters(), parameters, "parameters");
  }
  EXPECT_TRUE(SameBits(on_device.parameters(), again.parameters()));
  EXPECT_TRUE(SameBits(on_device.State(), again.State()));
  ExpectNear(on_device.control().norms, norms, "norms");
  EXPECT_EQ(on_device.control().updates, 3u);
  EXPECT_EQ(on_device.control().optimizer_steps, 3u);

  SavedState host_state;
  on_host.Save(StateWriter(&host_state, "optimizer"));
  const SavedState saved = on_device.Save();
  ASSERT_EQ(saved.words, host_state.words);
  ASSERT_EQ(saved.floats.size(), host_state.floats.size());
  for (const auto& [name, numbers] : host_state.floats)
    ExpectNear(saved.floats.at(name), numbers, name.c_str());

  Stepper loaded(spec, settings, 3, parameters);
  ASSERT_TRUE(loaded.Load(host_state).ok());
  LocalStore resumed = HostStore(spec, settings);
  ASSERT_TRUE(resumed.Load(StateReader(saved, "optimizer")).ok());
  const std::vector<float> gradient = Normals(count, 0.3, 20);
  loaded.SetRate(kRate);
  loaded.Step(gradient);
  (void)resumed.Step(kRate, gradient, parameters);
  ExpectNear(loaded.parameters(), parameters, "parameters after a state was loaded");
}

TEST(DeviceOptimizer, EveryRuleAsOnTheProcessor) {
  for (const Name name :
       {Name::kAdam, Name::kRmsProp, Name::kSgd, Name::kMomentum, Name::kAdagrad}) {
    for (const double clip : {0.0, 0.5}) {
      SCOPED_TRACE(testing::Message() << "rule " << static_cast<int>(name) << ", clip " << clip);
      ExpectTheSameSteps(SpecOf(5), SettingsOf(name, 0.0, 1.0, clip));
      ExpectTheSameSteps(SpecOf(33), SettingsOf(name, 0.1, 5.0, clip));
      ExpectTheSameSteps(SpecOf(5), SettingsOf(name, 0.0, 0.2, clip));
    }
  }
}

TEST(DeviceOptimizer, CountsTheNormsOfPolicyAndValue) {
  const ModelSpec spec = SpecOf(40);
  const ParameterLayout layout(spec);
  const std::vector<float> gradient = Normals(layout.trained_count(), 1.0, 5);
  Stepper stepper(spec, SettingsOf(Name::kSgd, 0.0, 1.0, 0.0), 0,
                  std::vector<float>(gradient.size()));
  stepper.Step(gradient);
  const TrainingControl control = stepper.control();
  const auto all = std::span(gradient);
  const std::size_t value = ValueBegin(layout);
  ASSERT_LT(value, gradient.size());
  ExpectNear(control.norm, Norm(all), "norm");
  ExpectNear(control.sums[on_policy_sums::kPolicyGradient], Norm(all.first(value)), "policy");
  ExpectNear(control.sums[on_policy_sums::kValueGradient], Norm(all.subspan(value)), "value");
}

TEST(DeviceOptimizer, LeavesOutAGradientThatIsNotFinite) {
  const ModelSpec spec = SpecOf(5);
  std::vector<float> gradient = Normals(ParameterLayout(spec).trained_count(), 1.0, 5);
  const std::vector<float> parameters = Normals(gradient.size(), 1.0, 6);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 1e30f}) {
    gradient.back() = bad;
    Stepper stepper(spec, SettingsOf(Name::kAdam, 0.1, 1.0, 0.5), 0, parameters);
    const std::vector<float> state = stepper.State();
    stepper.Step(gradient);
    EXPECT_EQ(stepper.control().skipped, 1u) << bad;
    EXPECT_EQ(stepper.control().updates, 0u);
    EXPECT_EQ(stepper.control().optimizer_steps, 0u);
    EXPECT_EQ(stepper.control().finite, 0u);
    EXPECT_EQ(stepper.parameters(), parameters);
    EXPECT_EQ(stepper.State(), state);
    LocalStore host = HostStore(spec, SettingsOf(Name::kAdam, 0.1, 1.0, 0.5));
    std::vector<float> on_host = parameters;
    EXPECT_FALSE(std::isfinite(host.Step(kRate, gradient, on_host)));
  }
}

TEST(DeviceOptimizer, ABatchThatWasLeftOrIsScoredChangesNothing) {
  const ModelSpec spec = SpecOf(5);
  const std::vector<float> gradient = Normals(ParameterLayout(spec).trained_count(), 1.0, 5);
  for (const bool scores : {false, true}) {
    Stepper stepper(spec, SettingsOf(Name::kMomentum, 0.1, 1.0, 0.5), 0, gradient);
    TrainingControl control = stepper.control();
    (scores ? control.scores : control.stopped) = 1;
    stepper.Set(control);
    stepper.Step(gradient);
    const TrainingControl after = stepper.control();
    EXPECT_EQ(std::memcmp(&after, &control, sizeof control), 0);
    EXPECT_EQ(stepper.parameters(), gradient);
    EXPECT_THAT(stepper.device()->unwritten(), testing::IsEmpty());
  }
}

TEST(DeviceOptimizer, ShortensAStepThatWentTooFar) {
  const ModelSpec spec = SpecOf(5);
  const std::vector<float> gradient = Normals(ParameterLayout(spec).trained_count(), 1.0, 5);
  const std::vector<float> before = Normals(gradient.size(), 1.0, 6);
  Stepper stepper(spec, SettingsOf(Name::kSgd, 0.0, 1.0, 0.0), 0, before);
  stepper.Step(gradient);
  const std::vector<float> after = stepper.parameters();
  TrainingControl control = stepper.control();
  control.most_kl = 0.04f;
  control.kl = 0.03;
  stepper.Set(control);
  stepper.Shorten();
  EXPECT_EQ(stepper.parameters(), after);
  control.kl = 0.16;
  stepper.Set(control);
  stepper.Shorten();
  std::vector<float> half;
  for (std::size_t i = 0; i < after.size(); ++i) half.push_back(0.5f * (before[i] + after[i]));
  ExpectNear(stepper.parameters(), half, "half of the way");
}

}  // namespace
}  // namespace murmurate
