// What every BatchTrainer must do, whatever computes it. A device joins by one line: its maker in
// the list at the end.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "server/device/device_trainer.h"
#include "server/learn/host_trainer.h"
#include "tests/device/host_device.h"
#include "tests/learn/checking_trainer.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

constexpr double kOneStep = 1e-5;  ///< how far a device may be from the formulas after one step

struct Maker {
  const char* name;
  std::unique_ptr<BatchTrainer> (*make)(const ModelSpec& spec, const AlgorithmSettings& settings);
};

std::unique_ptr<BatchTrainer> OnHost(const ModelSpec& spec, const AlgorithmSettings& settings) {
  return std::make_unique<HostTrainer>(spec, settings);
}

std::unique_ptr<BatchTrainer> OnTwoThreads(const ModelSpec& spec,
                                           const AlgorithmSettings& settings) {
  AlgorithmSettings two = settings;
  two.threads = 2;
  return std::make_unique<HostTrainer>(spec, two);
}

std::unique_ptr<BatchTrainer> Checked(const ModelSpec& spec, const AlgorithmSettings& settings) {
  return std::make_unique<CheckingTrainer>(OnHost(spec, settings), OnTwoThreads(spec, settings),
                                           1e-4);
}

std::unique_ptr<BatchTrainer> OnHostDevice(const ModelSpec& spec,
                                           const AlgorithmSettings& settings) {
  auto trainer = DeviceTrainer::Make(spec, settings, std::make_shared<HostDevice>());
  EXPECT_TRUE(trainer.ok()) << trainer.status();
  return *std::move(trainer);
}

/// A trainer with plans and parameters.
struct Training {
  Training(const Maker& maker, const ModelSpec& spec, const AlgorithmSettings& settings)
      : trainer(maker.make(spec, settings)),
        planner(spec, settings, 7),
        rates(Rates::Of(settings)),
        beginning(ParameterLayout(spec).total) {
    InitializeParameters(spec, 3, beginning);
    trainer->SetParameters(beginning);
  }

  BatchSums Train(const TrainingBatch& batch) {
    return Train(batch, planner.Plan(batch, rates, 0));
  }
  BatchSums Train(const TrainingBatch& batch, const BatchPlan& plan) {
    version = trainer->Open(version, plan.scores).value();
    trainer->Begin(batch, plan);
    const BatchSums sums = trainer->Finish();
    if (&plan == &planner.plan()) planner.Began(sums.begun);
    version = sums.version;
    return sums;
  }
  std::vector<float> parameters() const {
    const auto all = trainer->parameters();
    return {all.begin(), all.end()};
  }

  std::unique_ptr<BatchTrainer> trainer;
  BatchPlanner planner;
  Rates rates;
  std::vector<float> beginning;
  std::uint64_t version = 1;
};

/// A kind of algorithm, and a model for it.
struct Task {
  const char* name;
  ModelSpec spec;
  AlgorithmSettings settings;
};

ModelSpec Recurrent() {
  PolicyAndValue spec = ExampleSpec();
  spec.trunk = {*Layer::Parse("lstm 4")};
  spec.separate_value = false;
  return spec;
}

std::vector<Task> Tasks() {
  std::vector<Task> tasks{{"dense", ExampleSpec(true), ExamplePpo()},
                          {"one pass", ExampleSpec(), ExamplePpo()},
                          {"recurrent", Recurrent(), ExamplePpo()},
                          {"labels", ExampleSpec(), ExamplePpo()}};
  tasks[1].settings.kind = AlgorithmNamed("impala");
  tasks[1].settings.epochs = 1;
  tasks[1].settings.minibatch = tasks[1].settings.batch_steps;
  tasks[2].settings.burn_in = 2;
  tasks[2].settings.minibatch = 16;
  tasks[3].settings.kind = AlgorithmNamed("bc");
  return tasks;
}

TrainingBatch BatchFor(const Task& task, int number) {
  TrainingBatch batch(TrajectoryLayout(task.spec, task.settings.trajectory_length), 4);
  const std::vector<float> state(static_cast<std::size_t>(batch.layout.state_floats), 0.25f);
  for (std::uint32_t agent = 0; agent < 4; ++agent) {
    const ExampleTrajectory one(static_cast<std::uint32_t>(4 * number) + agent, 1, 8);
    TrajectoryView view = one.view();
    view.state0 = state;
    EXPECT_TRUE(batch.Add(view));
  }
  return batch;
}

class TrainerConformance : public testing::TestWithParam<Maker> {};

// The numbers of LinearAlgorithmTest: three rows, d L / d bias -1/3 sum r A (1[a = 1] - 1/2) and
// 0.5/3 sum (V - v). Plain steps of size 1 take off the gradient itself.
TEST_P(TrainerConformance, AStepOnPaper) {
  const PolicyAndValue spec{.spaces = {Box({1}), Discrete(2)}, .trunk = {}, .separate_value = true};
  AlgorithmSettings settings;
  settings.trajectory_length = settings.batch_steps = settings.minibatch = 4;
  settings.epochs = 1;
  settings.gamma = 0.5;
  settings.lambda = 0.8;
  settings.normalize_advantage = false;
  settings.optimizer = OptimizerSettings::Name::kSgd;
  settings.max_grad_norm = 0;
  settings.learning_rate = 1.0;
  Training run(GetParam(), spec, settings);
  const ParameterLayout layout(spec);
  std::vector<float> parameters(layout.total);
  parameters[layout.Find("value.head.weight").offset] = 2.0f;  // V = 2 x
  run.trainer->SetParameters(parameters);

  const std::vector<float> observation = {1, 2, -1}, reward = {1, 0, 2}, next = {1};
  const std::vector<float> log_prob = {std::log(0.5f), std::log(0.4f), std::log(0.55f)};
  const std::vector<std::int32_t> action = {0, 1, 1};
  const std::vector<std::uint8_t> flags = {kFirst, kTerminatedFlag, kFirst};
  TrajectoryView view;
  view.steps = 3;
  view.observation = RowsOf(observation);
  view.action = action;
  view.log_prob = log_prob;
  view.reward = reward;
  view.flags = flags;
  view.next_observation = RowsOf(next);
  TrainingBatch batch(TrajectoryLayout(spec.spaces, 4), 1);
  batch.Add(view);
  const BatchSums sums = run.Train(batch);
  EXPECT_EQ(sums.updates, 1u);
  EXPECT_EQ(sums.begun, 1u);
  EXPECT_EQ(sums.version, 2u);

  // A = -0.6, -4, 5; r = 1, 1.25, 0.909, the second not clipped as A < 0; v - V = -0.6, -4, 4.545.
  const double ratio = 0.5 / 0.55;
  const double policy = -(-0.6 * -0.5 + 1.25 * -4.0 * 0.5 + ratio * 5.0 * 0.5) / 3.0;
  const double value = 0.5 * -(-0.6 - 4.0 + ratio * 5.0) / 3.0;
  const std::vector<float> after = run.parameters();
  EXPECT_NEAR(after[layout.Find("policy.head.bias").offset + 1], -policy, 1e-6);
  EXPECT_NEAR(after[layout.Find("policy.head.bias").offset], policy, 1e-6);
  EXPECT_NEAR(after[layout.Find("value.head.bias").offset], -value, 1e-6);
}

// Adam's first step: lr g / (|g| + epsilon), g clipped by the norm.
TEST_P(TrainerConformance, OneAdamStepIsThatOfTheFormula) {
  for (Task task : Tasks()) {
    task.settings.epochs = 1;
    Training run(GetParam(), task.spec, task.settings);
    PlannedAlgorithm algorithm(task.spec, task.settings, 1);
    const TrainingBatch batch = BatchFor(task, 0);
    BatchPlan plan = run.planner.Plan(batch, run.rates, 0);
    plan.updates.resize(1);
    std::vector<float> gradient(algorithm.layout().trained_count());
    algorithm.PrepareWith(plan, run.beginning, batch);
    ASSERT_TRUE(algorithm.NextGradient(run.beginning, gradient));
    double square = 0;
    for (const float g : gradient) square += double{g} * g;
    const double norm = std::sqrt(square), most = task.settings.max_grad_norm;
    const BatchSums sums = run.Train(batch, plan);
    ASSERT_EQ(sums.updates, 1u);
    EXPECT_NEAR(sums.norms, norm, kOneStep * (1 + norm));
    const std::vector<float> after = run.parameters();
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double g = gradient[i] * (norm > most ? most / norm : 1.0);
      const double step =
          task.settings.learning_rate.from * g / (std::abs(g) + task.settings.optimizer_epsilon);
      ASSERT_NEAR(after[i], run.beginning[i] - step, kOneStep) << task.name << ' ' << i;
    }
  }
}

TEST_P(TrainerConformance, TheSameBatchesAndPlansGiveTheSameBits) {
  for (const Task& task : Tasks()) {
    Training first(GetParam(), task.spec, task.settings),
        second(GetParam(), task.spec, task.settings);
    for (int i = 0; i < 3; ++i) {
      const TrainingBatch batch = BatchFor(task, i), next = BatchFor(task, i + 1);
      const BatchSums mine = first.Train(batch);
      second.trainer->Prefetch(next);
      const BatchSums other = second.Train(batch);
      EXPECT_EQ(mine.algorithm, other.algorithm) << task.name;
      EXPECT_EQ(mine.norms, other.norms) << task.name;
      EXPECT_EQ(first.parameters(), second.parameters()) << task.name;
    }
    EXPECT_NE(first.parameters(), first.beginning) << task.name;
  }
}

TEST_P(TrainerConformance, AGradientThatIsNotFiniteIsLeftOut) {
  Task task = Tasks()[0];
  task.settings.minibatch = task.settings.batch_steps;  // the row is in every update
  Training run(GetParam(), task.spec, task.settings);
  TrainingBatch batch = BatchFor(task, 0);
  batch.reward[1] = std::numeric_limits<float>::quiet_NaN();
  const std::size_t trained = ParameterLayout(task.spec).trained_count();
  const BatchSums sums = run.Train(batch);
  EXPECT_EQ(sums.updates, 0u);
  EXPECT_EQ(sums.skipped, 3u);
  EXPECT_EQ(sums.norms, 0.0);
  const std::vector<float> after = run.parameters();
  EXPECT_TRUE(std::equal(after.begin(), after.begin() + static_cast<std::ptrdiff_t>(trained),
                         run.beginning.begin()));
  EXPECT_EQ(run.Train(BatchFor(task, 1)).skipped, 0u);
}

TEST_P(TrainerConformance, SavedAndLoadedItGoesOnBitForBit) {
  for (const Task& task : Tasks()) {
    Training whole(GetParam(), task.spec, task.settings),
        again(GetParam(), task.spec, task.settings);
    for (int i = 0; i < 2; ++i) (void)whole.Train(BatchFor(task, i));
    SavedState state;
    whole.trainer->Save(&state);
    ASSERT_TRUE(again.trainer->Load(state).ok());
    again.trainer->SetParameters(whole.parameters());
    for (int i = 2; i < 4; ++i) {
      const TrainingBatch batch = BatchFor(task, i);
      const BatchPlan plan = whole.planner.Plan(batch, whole.rates, 0);
      (void)whole.Train(batch, plan);
      (void)again.Train(batch, plan);
    }
    EXPECT_EQ(again.parameters(), whole.parameters()) << task.name;
  }
}

// Rows of weight 0 are as if they were not there; of recurrent models, trajectories.
TEST_P(TrainerConformance, ThePlansWeightsWeigh) {
  for (Task task : Tasks()) {
    if (task.settings.epochs == 1) continue;  // its rows are all of the batch
    task.settings.optimizer = OptimizerSettings::Name::kSgd;
    Training weighed(GetParam(), task.spec, task.settings),
        alone(GetParam(), task.spec, task.settings);
    const TrainingBatch batch = BatchFor(task, 0);
    BatchPlan plan = weighed.planner.Plan(batch, weighed.rates, 0);
    plan.updates.resize(1);
    BatchPlan fewer = plan;
    ASSERT_GE(plan.updates[0].count, 2u);
    plan.weights.assign(plan.order.size(), 1.0f);
    plan.weights[plan.updates[0].count - 1] = 0.0f;
    --fewer.updates[0].count;
    (void)weighed.Train(batch, plan);
    (void)alone.Train(batch, fewer);
    const std::vector<float> one = weighed.parameters(), other = alone.parameters();
    for (std::size_t i = 0; i < one.size(); ++i)
      ASSERT_NEAR(one[i], other[i], kOneStep) << task.name << ' ' << i;
    plan.weights.assign(plan.order.size(), 1.0f);
    Training all(GetParam(), task.spec, task.settings);
    (void)all.Train(batch, plan);
    EXPECT_NE(all.parameters(), one) << task.name;
  }
}

// The update that finds the policy too far away is not made, and none after it.
TEST_P(TrainerConformance, ABatchIsLeftWhereThePolicyHasGoneTooFar) {
  Task task = Tasks()[0];
  task.settings.learning_rate = 0.05;
  Training left(GetParam(), task.spec, task.settings), whole(GetParam(), task.spec, task.settings);
  const TrainingBatch batch = BatchFor(task, 0);
  BatchPlan plan = left.planner.Plan(batch, left.rates, 0);
  plan.most_kl = 1e-3;
  const BatchSums sums = left.Train(batch, plan);
  ASSERT_LT(sums.begun, plan.updates.size());
  ASSERT_GT(sums.begun, 1u);
  EXPECT_EQ(sums.updates, sums.begun - 1);
  plan.most_kl = 0;
  plan.updates.resize(sums.updates);
  (void)whole.Train(batch, plan);
  EXPECT_EQ(left.parameters(), whole.parameters());
}

TEST_P(TrainerConformance, AScoreChangesNothing) {
  const Task task = Tasks()[3];
  Training run(GetParam(), task.spec, task.settings);
  TrainingBatch batch = BatchFor(task, 0);
  batch.samples = TrainingBatch::Samples::kHeldOut;
  const BatchSums sums = run.Train(batch);
  EXPECT_EQ(run.parameters(), run.beginning);
  EXPECT_EQ(sums.version, 1u);
  EXPECT_EQ(sums.updates, 0u);
  LearnReport report;
  ReportMetrics(*task.settings.kind, sums.algorithm, &report);
  EXPECT_EQ(report.eval_rows, 32.0);
  EXPECT_GT(report.eval_loss, 0.0);
}

INSTANTIATE_TEST_SUITE_P(, TrainerConformance,
                         testing::Values(Maker{"Host", OnHost}, Maker{"TwoThreads", OnTwoThreads},
                                         Maker{"Checked", Checked},
                                         Maker{"HostDevice", OnHostDevice}),
                         [](const auto& one) { return std::string(one.param.name); });

/// A device that is a little wrong.
class Wrong : public HostTrainer {
 public:
  using HostTrainer::HostTrainer;
  BatchSums Finish() override {
    const BatchSums sums = HostTrainer::Finish();
    std::vector<float> all(parameters().begin(), parameters().end());
    all[5] += 1e-3f;
    SetParameters(all);
    return sums;
  }
};

TEST(CheckingTrainer, SaysHowFarTheSecondIsFromTheFirst) {
  const Task task = Tasks()[0];
  const auto check = [&](auto second, double tolerance) {
    CheckingTrainer trainer(OnHost(task.spec, task.settings), std::move(second), tolerance);
    trainer.SetParameters(std::vector<float>(ParameterLayout(task.spec).total, 0.1f));
    BatchPlanner planner(task.spec, task.settings, 7);
    const TrainingBatch batch = BatchFor(task, 0);
    EXPECT_TRUE(trainer.Open(1, false));
    trainer.Begin(batch, planner.Plan(batch, Rates::Of(task.settings), 0));
    (void)trainer.Finish();
    return std::pair(trainer.largest(), trainer.where());
  };
  EXPECT_EQ(check(OnHost(task.spec, task.settings), 1e-6), std::pair(0.0, std::string()));
  const auto [apart, where] = check(std::make_unique<Wrong>(task.spec, task.settings), 1e-4);
  EXPECT_GT(apart, 5.0);
  EXPECT_LT(apart, 10.5);
  EXPECT_EQ(where.substr(0, 12), "parameter 5:");
}

}  // namespace
}  // namespace murmurate
