// The learner on a device and the learner on this processor, side by side: every bundled model, and
// models that no example has, from the same batches and plans.
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
#include "tests/device/random_batch.h"
#include "tests/device/test_device.h"

namespace murmurate {
namespace {

struct Named {
  std::string name;
  ModelSpec spec;
  AlgorithmSettings settings;
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
    if (!model.ok() || model->algorithm.kind->loss == nullptr) continue;
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
  explicit Pair(const Named& named)
      : planner(named.spec, named.settings, 5),
        rates(Rates::Of(named.settings)),
        host(std::make_unique<HostTrainer>(named.spec, named.settings)) {
    auto made = DeviceTrainer::Make(named.spec, named.settings, MakeTestDevice());
    EXPECT_TRUE(made.ok()) << made.status();
    device = *std::move(made);
    std::vector<float> parameters(ParameterLayout(named.spec).total);
    InitializeParameters(named.spec, 3, parameters);
    host->SetParameters(parameters);
    device->SetParameters(parameters);
  }

  void Train(const TrainingBatch& batch) {
    const BatchPlan& plan = planner.Plan(batch, rates, 0);
    BatchSums sums[2];
    for (int i = 0; i < 2; ++i) {
      BatchTrainer& trainer = i == 0 ? *host : *device;
      (void)trainer.Open(1, false);
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

  BatchPlanner planner;
  Rates rates;
  std::unique_ptr<BatchTrainer> host, device;
  std::uint64_t updates = 0;
};

/// After one step of Adam, and after a hundred plain ones.
void ExpectAgreement(Named named, int steps) {
  SCOPED_TRACE(named.name);
  const ParameterLayout layout(named.spec);
  const TrainingBatch batch = RandomBatch(named.spec, named.settings, 17, true);
  std::string where;
  {
    Named one = named;
    one.settings.epochs = 1;
    one.settings.minibatch = one.settings.batch_steps;
    one.settings.optimizer = OptimizerSettings::Name::kAdam;
    one.settings.learning_rate = 1e-3;
    Pair pair(one);
    pair.Train(batch);
    EXPECT_EQ(pair.updates, 1u);
    const double apart =
        Distance(layout, pair.host->parameters(), pair.device->parameters(), &where);
    EXPECT_LT(apart, 1e-5) << where;
  }
  named.settings.optimizer = OptimizerSettings::Name::kSgd;
  named.settings.learning_rate = 1e-3;
  Pair pair(named);
  while (pair.updates < static_cast<std::uint64_t>(steps)) {
    const std::uint64_t before = pair.updates;
    pair.Train(batch);
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

}  // namespace
}  // namespace murmurate
