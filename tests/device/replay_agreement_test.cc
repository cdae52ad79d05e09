// Learners of a replay on a device and on this processor, side by side, from the same batches and
// plans: batches as a replay gives them, and new ones, whose errors are first priorities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "server/device/device_trainers.h"
#include "server/learn/host_trainer.h"
#include "server/learn/rates.h"
#include "server/learn/replay_planner.h"
#include "shared/model/parameter_layout.h"
#include "tests/device/random_batch.h"
#include "tests/device/replay_cases.h"
#include "tests/device/test_device.h"

namespace murmurate {
namespace {

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
  explicit Pair(const ReplayCase& one, HostDeviceOptions options = {})
      : layout(one.spec),
        processor(MakeTestDevice(std::move(options))),
        planner(one.settings, 5),
        rates(Rates::Of(one.settings)),
        host(std::make_unique<HostTrainer>(one.spec, one.settings)) {
    auto made = MakeDeviceTrainer(one.spec, one.settings, processor);
    EXPECT_TRUE(made.ok()) << made.status();
    device = *std::move(made);
    const std::vector<float> parameters = ParametersApart(one.spec);
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
void ExpectAgreement(ReplayCase one) {
  SCOPED_TRACE(one.name);
  {
    ReplayCase single = one;
    single.settings.batch_steps = 4 * single.settings.replay.minibatch;
    single.settings.learning_rate = 1e-3;
    single.settings.optimizer_epsilon = 1e-3;  // small gradients would show their rounding
    Pair pair(single);
    pair.Train(ReplayWindows(single, 17));
    EXPECT_EQ(pair.updates, 1u);
    pair.ExpectClose(1e-5);
  }
  one.settings.optimizer = OptimizerSettings::Name::kSgd;
  one.settings.learning_rate = 1e-2;
  const TrainingBatch batches[] = {ReplayWindows(one, 17), ReplayWindows(one, 18)};
  Pair pair(one);
  for (int i = 0; i < 20; ++i) pair.Train(batches[i % 2], 1.0 + i % 3);
  EXPECT_EQ(pair.updates, 100u);
  pair.ExpectClose(1e-4);
}

TEST(ReplayAgreement, OfChoices) {
  for (const ReplayCase& one : ChoiceCases()) ExpectAgreement(one);
}

TEST(ReplayAgreement, OfSoftNumbers) {
  for (const ReplayCase& one : SoftCases()) ExpectAgreement(one);
}

/// Errors, statistics and versions of batches that are new, between others.
TEST(ReplayAgreement, OfNewBatches) {
  std::vector<ReplayCase> cases = ChoiceCases();
  for (ReplayCase& one : SoftCases()) cases.push_back(std::move(one));
  for (ReplayCase& one : cases) {
    SCOPED_TRACE(one.name);
    one.settings.learning_rate = 1e-3;
    one.settings.trajectory_length = 4;
    ReplayCase longer = one;
    longer.settings.trajectory_length = 8;
    longer.settings.batch_steps = 80;  // of another shape, and more rows than go up at once
    const TrainingBatch fresh = RandomBatch(longer.spec, longer.settings, 3, one.masks);
    Pair pair(one);
    for (int i = 0; i < 2; ++i) {
      pair.Train(fresh);
      pair.Train(ReplayWindows(one, 18));
    }
    EXPECT_EQ(pair.updates, 10u);
    pair.ExpectClose(1e-4);
  }
}

}  // namespace
}  // namespace murmurate
