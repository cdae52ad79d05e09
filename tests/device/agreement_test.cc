// The learner on a device and the learner on this processor, side by side: every bundled model, and
// models that no example has, from the same batches and plans.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "client/environments/environment.h"
#include "server/config/config.h"
#include "server/config/examples.h"
#include "server/config/model_settings.h"
#include "server/device/device_trainer.h"
#include "server/learn/algorithms.h"
#include "server/learn/batch_planner.h"
#include "server/learn/host_trainer.h"
#include "server/parameters/local_store.h"
#include "shared/model/policy_and_value.h"
#include "tests/device/random_batch.h"
#include "tests/device/test_device.h"

namespace murmurate {
namespace {

struct Named {
  std::string name;
  ModelSpec spec;
  AlgorithmSettings settings;
  double rate = 1e-3;
};

/// As large a batch as a test has time for, cut into minibatches of nearly equal size.
void Shrink(Named* named) {
  AlgorithmSettings& settings = named->settings;
  settings.trajectory_length = std::min(settings.trajectory_length, 8);
  settings.burn_in = std::min(settings.burn_in, 2);
  const bool pictures = named->spec.policy().encoders.size() > 0;
  settings.batch_steps = settings.trajectory_length * (pictures ? 2 : 4);
  settings.minibatch = settings.batch_steps / 2;
  settings.threads = 1;
}

std::vector<Named> BundledModels() {
  std::vector<Named> models;
  for (const Example& example : Examples()) {
    const auto config = Config::Load({example.name, example.name, example.text}, {});
    if (!config.ok()) continue;
    Result<ModelSettings> model = InvalidArgument("no spaces");
    if (!config->streams().empty()) {
      model = ModelForStream(*config, config->streams().front());
    } else if (!config->run().environment.empty()) {
      const auto environment =
          MakeEnvironment(config->run().environment, config->environment_options());
      if (environment.ok()) model = ModelFor(*config, "default", (*environment)->spaces());
    }
    if (!model.ok() || model->algorithm.kind->loss == nullptr || model->algorithm.kind->replays)
      continue;
    models.push_back({example.name, model->spec, model->algorithm});
    Shrink(&models.back());
  }
  return models;
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

struct Pair {
  explicit Pair(const Named& named, HostDeviceOptions options = {})
      : processor(MakeTestDevice(std::move(options))),
        planner(named.spec, named.settings, 5),
        rates(Rates::Of(named.settings)),
        host(std::make_unique<HostTrainer>(named.spec, named.settings)) {
    auto made = DeviceTrainer::Make(named.spec, named.settings, processor);
    EXPECT_TRUE(made.ok()) << made.status();
    device = *std::move(made);
    std::vector<float> parameters(ParameterLayout(named.spec).total);
    InitializeParameters(named.spec, 3, parameters);
    host->SetParameters(parameters);
    device->SetParameters(parameters);
  }

  /// Rates are others for each batch, and some batches travel to the device ahead of their rewards.
  void Train(TrainingBatch& batch) {
    BatchPlan plan = planner.Plan(batch, rates, 0);
    const auto number = static_cast<float>(batches++ % 3);
    plan.learning_rate *= 1.0 + number;
    plan.clip += 0.05f * number;
    plan.entropy += 0.01f * number;
    if (number > 0.0f) device->Prefetch(batch);
    batch.reward[0] = 0.25f * number;
    BatchSums sums[2];
    for (int i = 0; i < 2; ++i) {
      BatchTrainer& trainer = i == 0 ? *host : *device;
      (void)trainer.Open(1, plan.scores);
      trainer.Begin(batch, plan);
      sums[i] = trainer.Finish();
    }
    planner.Began(sums[0].begun);
    updates += sums[0].updates;
    EXPECT_EQ(sums[0].begun, sums[1].begun);
    EXPECT_EQ(sums[0].updates, sums[1].updates);
    EXPECT_EQ(sums[0].skipped, sums[1].skipped);
    EXPECT_NEAR(sums[0].norms, sums[1].norms, 1e-3 * (1.0 + sums[0].norms));
    for (std::size_t i = 0; i < sums[0].algorithm.size(); ++i)
      EXPECT_NEAR(sums[0].algorithm[i], sums[1].algorithm[i],
                  2e-4 * (1.0 + std::abs(sums[0].algorithm[i])))
          << "sum " << i;
  }

  void ExpectClose(const ParameterLayout& layout, double most) const {
    std::string where;
    EXPECT_LT(Distance(layout, host->parameters(), device->parameters(), &where), most) << where;
  }

  ~Pair() { EXPECT_THAT(UnwrittenOn(*processor), testing::IsEmpty()); }

  const std::shared_ptr<Device> processor;
  BatchPlanner planner;
  Rates rates;
  std::unique_ptr<BatchTrainer> host, device;
  std::uint64_t updates = 0;
  int batches = 0;
};

/// How far the processor is from itself after the same step with its sums in another order: a first
/// step of Adam divides a gradient by its size, so small ones show their rounding.
double Rounding(const Named& named, const TrainingBatch& batch) {
  AlgorithmSettings two = named.settings;
  two.threads = 2;
  HostTrainer trainers[] = {HostTrainer(named.spec, named.settings), HostTrainer(named.spec, two)};
  std::vector<float> parameters(ParameterLayout(named.spec).total);
  InitializeParameters(named.spec, 3, parameters);
  BatchPlanner planner(named.spec, named.settings, 5);
  const BatchPlan& plan = planner.Plan(batch, Rates::Of(named.settings), 0);
  for (HostTrainer& trainer : trainers) {
    trainer.SetParameters(parameters);
    (void)trainer.Open(1, false);
    trainer.Begin(batch, plan);
    (void)trainer.Finish();
  }
  std::string where;
  return Distance(ParameterLayout(named.spec), trainers[0].parameters(), trainers[1].parameters(),
                  &where);
}

/// After one step of Adam, and after a hundred plain ones.
void ExpectAgreement(Named named, int steps) {
  SCOPED_TRACE(named.name);
  const ParameterLayout layout(named.spec);
  TrainingBatch batches[] = {RandomBatch(named.spec, named.settings, 17, true),
                             RandomBatch(named.spec, named.settings, 18)};
  std::string where;
  {
    Named one = named;
    one.settings.epochs = 1;
    one.settings.minibatch = one.settings.batch_steps;
    one.settings.optimizer = OptimizerSettings::Name::kAdam;
    one.settings.learning_rate = 1e-3;
    one.settings.target_kl = 0.0;
    Pair pair(one);
    pair.Train(batches[0]);
    EXPECT_EQ(pair.updates, 1u);
    const double apart =
        Distance(layout, pair.host->parameters(), pair.device->parameters(), &where);
    EXPECT_LT(apart, 1e-5 + 4 * Rounding(one, batches[0])) << where;
  }
  named.settings.optimizer = OptimizerSettings::Name::kSgd;
  named.settings.learning_rate = named.rate;
  Pair pair(named);
  while (pair.updates < static_cast<std::uint64_t>(steps)) {
    const std::uint64_t before = pair.updates;
    pair.Train(batches[pair.batches % 2]);
    ASSERT_GT(pair.updates, before);
  }
  const double apart = Distance(layout, pair.host->parameters(), pair.device->parameters(), &where);
  EXPECT_LT(apart, 1e-4) << where;
}

TEST(Agreement, OfEveryBundledModel) {
  const std::vector<Named> models = BundledModels();
  EXPECT_GE(models.size(), 10u);
  // Examples with the same networks and algorithm differ in what is not seen here.
  std::map<std::string, std::string> seen;
  for (const Named& named : models) {
    const std::string key = named.spec.ToText() + named.settings.kind->name;
    if (!seen.emplace(key, named.name).second) continue;
    ExpectAgreement(named, 100);
  }
}

AlgorithmSettings SmallSettings(const char* kind = "ppo") {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed(kind);
  settings.trajectory_length = 8;
  settings.batch_steps = 32;
  settings.minibatch = 12;
  settings.epochs = settings.kind->many_updates ? 2 : 1;
  return settings;
}

std::vector<Layer> Layers(std::initializer_list<const char*> texts) {
  std::vector<Layer> layers;
  for (const char* text : texts) layers.push_back(*Layer::Parse(text));
  return layers;
}

Space Everything() {
  return Dict({{"move", Discrete(5)}, {"turn", Box({3}, -1, 2)}, {"buttons", MultiBinary(2)}});
}

/// What no example has, or not together.
std::vector<Named> OtherModels() {
  const Space inputs = Dict({{"camera", Image({6, 6, 2})},
                             {"kind", MultiDiscrete({3, 4})},
                             {"place", Box({3})},
                             {"flags", MultiBinary(2)}});
  const InputEncoder camera{.input = "camera",
                            .stack = 3,
                            .layers = Layers({"conv 4 3 1 1 relu", "max_pool 2 2 0", "flatten"})};
  const InputEncoder place{.input = "place", .stack = 2, .layers = {}};
  std::vector<Named> models;
  models.push_back(
      {"all inputs, stacked, and all actions",
       PolicyAndValue{.spaces = {inputs, Everything()},
                      .trunk = Layers({"dense 16 elu", "layer_norm", "dense 8 sigmoid"}),
                      .normalize_observation = true,
                      .encoders = {camera, place},
                      .continuous = {.state_dependent_deviation = true}},
       SmallSettings()});
  models.push_back({"a privileged value beside a memory that is warmed",
                    PolicyAndValue{.spaces = {Box({3}), Discrete(3), Box({2})},
                                   .trunk = Layers({"dense 8 tanh", "lstm 6"}),
                                   .value_trunk = Layers({"dense 8 tanh"}),
                                   .normalize_observation = true},
                    SmallSettings()});
  models.back().settings.burn_in = 3;
  models.back().settings.minibatch = 16;
  models.push_back({"two memories, warmed, squashed actions",
                    PolicyAndValue{.spaces = {Box({3}), Box({2}, -1, 1)},
                                   .trunk = Layers({"gru 6", "dense 8 relu", "lstm 4"}),
                                   .separate_value = false,
                                   .continuous = {.squashed = true}},
                    SmallSettings()});
  models.back().settings.burn_in = 2;
  models.back().settings.minibatch = 16;
  models.push_back(
      {"one pass of limited length",
       PolicyAndValue{.spaces = {Box({4}), Discrete(2)}, .trunk = Layers({"dense 16 tanh"})},
       SmallSettings("impala")});
  models.back().settings.minibatch = models.back().settings.batch_steps;
  models.back().settings.target_kl = 1e-4;
  models.back().rate = 0.5;  // steps are cut
  models.push_back(
      {"numbers that are labels",
       PolicyAndValue{.spaces = {Box({4}), Box({2})}, .trunk = Layers({"dense 16 tanh"})},
       SmallSettings("supervised")});
  models.push_back(
      {"play that is cloned",
       PolicyAndValue{.spaces = {Box({4}), Everything()}, .trunk = Layers({"dense 16 tanh"})},
       SmallSettings("bc")});
  return models;
}

TEST(Agreement, OfModelsThatNoExampleHas) {
  for (const Named& named : OtherModels()) ExpectAgreement(named, 40);
}

/// Samples that are learned from, that come from files, and that are only scored, in turn.
TEST(Agreement, OfLabelsThatAreNewReadAndHeldOut) {
  using Samples = TrainingBatch::Samples;
  Named named{
      "labels",
      PolicyAndValue{.spaces = {Box({4}), Everything()}, .trunk = Layers({"dense 16 tanh"})},
      SmallSettings("supervised")};
  named.settings.epochs = 2;
  named.settings.learning_rate = 1e-2;
  TrainingBatch batches[] = {
      RandomBatch(named.spec, named.settings, 3), RandomBatch(named.spec, named.settings, 4),
      RandomBatch(named.spec, named.settings, 5), RandomBatch(named.spec, named.settings, 6)};
  batches[1].samples = Samples::kHeldOut;
  batches[2].samples = Samples::kRead;
  // A batch that was sent before it was full has fewer updates.
  std::ranges::fill(batches[3].weight.subspan(12), 0.0f);
  Pair pair(named);
  for (int i = 0; i < 8; ++i) pair.Train(batches[i % 4]);
  pair.ExpectClose(ParameterLayout(named.spec), 1e-4);
}

/// Of doubles every test here shows it.
TEST(Agreement, ComputesWithNoFloatThatWasNotWritten) {
  std::vector<Named> models = OtherModels();
  for (Named& named : BundledModels())
    if (named.spec.recurrent() || !named.spec.policy().encoders.empty()) models.push_back(named);
  for (const Named& named : models) {
    SCOPED_TRACE(named.name);
    TrainingBatch batch = RandomBatch(named.spec, named.settings, 17, true);
    Pair(named, {.poison = Poison::kFloats}).Train(batch);
  }
}

/// A batch of which nothing may be learned, before others and between them.
TEST(Agreement, OfABatchWithoutRows) {
  for (const char* kind : {"ppo", "bc"}) {
    Named named{kind,
                PolicyAndValue{.spaces = {Box({4}), Box({2})}, .trunk = Layers({"dense 16 tanh"})},
                SmallSettings(kind)};
    TrainingBatch empty = RandomBatch(named.spec, named.settings, 3);
    TrainingBatch full = RandomBatch(named.spec, named.settings, 4);
    std::ranges::fill(empty.weight, 0.0f);
    Pair pair(named);
    for (TrainingBatch* batch : {&empty, &full, &empty, &full}) pair.Train(*batch);
    pair.ExpectClose(ParameterLayout(named.spec), 1e-4);
  }
}

/// Back at the parameters of the beginning, with an optimizer that knows of no step.
TEST(Agreement, AfterItHasGoneBack) {
  Named named{"going back",
              PolicyAndValue{.spaces = {Box({4}), Discrete(2)}, .trunk = Layers({"dense 16 tanh"})},
              SmallSettings()};
  TrainingBatch batch = RandomBatch(named.spec, named.settings, 3);
  Pair pair(named);
  const std::vector<float> beginning(pair.host->parameters().begin(),
                                     pair.host->parameters().end());
  for (int i = 0; i < 5; ++i) {
    pair.Train(batch);
    if (i == 2) {
      EXPECT_TRUE(pair.host->GoBack(beginning));
      EXPECT_TRUE(pair.device->GoBack(beginning));
    }
  }
  pair.ExpectClose(ParameterLayout(named.spec), 1e-4);
}

/// Parameters that are stepped on the host, as those of several learners are.
TEST(Agreement, WhereAStoreStepsTheParameters) {
  Named named{"a store",
              PolicyAndValue{.spaces = {Box({4}), Box({2})},
                             .trunk = Layers({"dense 16 tanh"}),
                             .normalize_observation = true},
              SmallSettings()};
  const ParameterLayout layout(named.spec);
  TrainingBatch batch = RandomBatch(named.spec, named.settings, 3);
  Pair pair(named);
  auto made = DeviceTrainer::Make(
      named.spec, named.settings, std::make_shared<HostDevice>(),
      std::make_unique<LocalStore>(
          MakeOptimizer(OptimizerOf(named.settings), layout, {0, layout.trained_count()}),
          named.settings.max_grad_norm));
  ASSERT_TRUE(made.ok()) << made.status();
  (*made)->SetParameters(pair.host->parameters());
  pair.device = *std::move(made);
  for (int i = 0; i < 4; ++i) pair.Train(batch);
  pair.ExpectClose(ParameterLayout(named.spec), 1e-4);
}

TEST(Agreement, OfEveryOptimizer) {
  using Name = OptimizerSettings::Name;
  for (const Name name :
       {Name::kAdam, Name::kRmsProp, Name::kSgd, Name::kMomentum, Name::kAdagrad}) {
    Named named{
        "optimizer " + std::to_string(static_cast<int>(name)),
        PolicyAndValue{.spaces = {Box({4}), Discrete(2)}, .trunk = Layers({"dense 16 tanh"})},
        SmallSettings()};
    named.settings.optimizer = name;
    named.settings.weight_decay = 0.01;
    named.settings.value_rate_factor = 3.0;
    named.settings.learning_rate = 1e-4;
    SCOPED_TRACE(named.name);
    TrainingBatch batch = RandomBatch(named.spec, named.settings, 3);
    Pair pair(named);
    for (int i = 0; i < 4; ++i) pair.Train(batch);
    std::string where;
    EXPECT_LT(Distance(ParameterLayout(named.spec), pair.host->parameters(),
                       pair.device->parameters(), &where),
              1e-5)
        << where;
  }
}

}  // namespace
}  // namespace murmurate
