#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "server/learn/algorithms.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "tests/learn/example_batches.h"

namespace murmurate {
namespace {

// A linear model on one-number observations: with the heads' weights set by hand every V, pi,
// target and advantage of three steps can be worked out on paper.
//   trunk: none; policy logits (0, b); V(x) = 2 x
class LinearAlgorithmTest : public testing::Test {
 protected:
  LinearAlgorithmTest() {
    spec_ = {.spaces = {Box({1}), Discrete(2)}, .trunk = {}, .separate_value = true};
    settings_.trajectory_length = 4;
    settings_.batch_steps = 4;
    settings_.minibatch = 4;
    settings_.epochs = 1;
    settings_.gamma = 0.5;
    settings_.lambda = 0.8;
    settings_.value_weight = 0.5;
  }

  PolicyAndValue spec_;
  AlgorithmSettings settings_;
};

TEST_F(LinearAlgorithmTest, TheGradientIsThatOfTheFormulas) {
  PlannedAlgorithm ppo(spec_, settings_, 1);
  const ParameterLayout& layout = ppo.layout();
  std::vector<float> parameters(layout.total, 0.0f), gradient(layout.trained_count());
  parameters[layout.Find("value.head.weight").offset] = 2.0f;

  // Values 2 x: 2, 4, -2; after the last step 2. pi = 1/2 each; mu = 1/2, 0.4, 0.55.
  const std::vector<float> observation = {1, 2, -1}, reward = {1, 0, 2}, next = {1};
  const std::vector<float> log_prob = {std::log(0.5f), std::log(0.4f), std::log(0.55f)};
  const std::vector<std::int32_t> action = {0, 1, 1};
  const std::vector<std::uint8_t> flags = {kFirst, kTerminatedFlag, kFirst};
  TrajectoryView view;
  view.steps = 3;
  view.version = 1;
  view.observation = RowsOf(observation);
  view.action = action;
  view.log_prob = log_prob;
  view.reward = reward;
  view.flags = flags;
  view.next_observation = RowsOf(next);
  TrainingBatch batch(TrajectoryLayout(spec_.spaces, 4), 1);
  batch.Add(view);

  ppo.Prepare(parameters, batch);
  ASSERT_TRUE(ppo.NextGradient(parameters, gradient));

  // errors: 1 + 0.5 * 4 - 2 = 1; 0 - 4 = -4; 2 + 0.5 * 2 + 2 = 5.
  // ratios 1, 1.25, 0.909: v - V = {1 + 0.4 * -4 = -0.6, -4, 0.909 * 5}; A = {-0.6, -4, 5}.
  const double ratio[] = {1.0, 1.25, 0.5 / 0.55};
  const double correction[] = {-0.6, -4.0, 5.0 * ratio[2]};
  const double advantage[] = {-0.6, -4.0, 5.0};
  const double mean = 0.4 / 3.0;
  double variance = 0.0;
  for (const double a : advantage) variance += (a - mean) * (a - mean) / 3.0;
  // d L / d logit_1 = -1/3 sum r A (1[a = 1] - 1/2). Row 1 has r = 1.25 and A < 0: not clipped
  // there.
  double policy_bias = 0.0, value_bias = 0.0;
  for (int i = 0; i < 3; ++i) {
    const double normalized = (advantage[i] - mean) / std::sqrt(variance);
    policy_bias -= ratio[i] * normalized * (action[i] == 1 ? 0.5 : -0.5) / 3.0;
    value_bias += 0.5 * -correction[i] / 3.0;
  }
  EXPECT_NEAR(gradient[layout.Find("policy.head.bias").offset + 1], policy_bias, 1e-6);
  EXPECT_NEAR(gradient[layout.Find("policy.head.bias").offset], -policy_bias, 1e-6);
  EXPECT_NEAR(gradient[layout.Find("value.head.bias").offset], value_bias, 1e-6);

  const LearnReport report = ppo.Report();
  const double sum = ratio[0] + ratio[1] + ratio[2];
  const double squares = ratio[0] * ratio[0] + ratio[1] * ratio[1] + ratio[2] * ratio[2];
  EXPECT_NEAR(report.effective_share, sum * sum / (3 * squares), 1e-6);
  EXPECT_NEAR(report.truncated_share, 1.0 / 3, 1e-9);
  EXPECT_NEAR(report.advantage_mean, mean, 1e-6);
  EXPECT_NEAR(report.advantage_deviation, std::sqrt(variance), 1e-6);
  const double targets[] = {2 - 0.6, 0.0, -2 + correction[2]};
  const double target_mean = (targets[0] + targets[1] + targets[2]) / 3;
  double target_variance = 0.0;
  for (const double x : targets) target_variance += (x - target_mean) * (x - target_mean) / 3;
  EXPECT_NEAR(report.target_mean, target_mean, 1e-6);
  EXPECT_NEAR(report.target_deviation, std::sqrt(target_variance), 1e-6);
  EXPECT_TRUE(std::isnan(report.policy_deviation)) << "two choices";

  double policy = 0.0, value = 0.0;
  for (const TensorSlot& tensor : layout.tensors)
    for (std::size_t i = 0; i < tensor.count && tensor.offset < gradient.size(); ++i)
      (tensor.name.starts_with("policy.") ? policy : value) +=
          gradient[tensor.offset + i] * gradient[tensor.offset + i];
  EXPECT_NEAR(report.policy_grad_norm, std::sqrt(policy), 1e-6);
  EXPECT_NEAR(report.value_grad_norm, std::sqrt(value), 1e-6);
  EXPECT_GT(value, 0.0);

  EXPECT_FALSE(ppo.NextGradient(parameters, gradient)) << "one epoch of one minibatch";
  EXPECT_NEAR(ppo.Report().entropy, std::log(2.0), 1e-6);
}

TEST_F(LinearAlgorithmTest, EveryEpochVisitsEveryRowOnce) {
  settings_.trajectory_length = 8;
  settings_.batch_steps = 32;
  settings_.minibatch = 5;
  settings_.epochs = 3;
  spec_.spaces.observation = Box({3});
  PlannedAlgorithm ppo(spec_, settings_, 1);
  std::vector<float> parameters(ppo.layout().total, 0.0f), gradient(ppo.layout().trained_count());
  const TrainingBatch batch = MakeBatch({{0, 1, 8}, {1, 1, 8}, {2, 1, 6}});
  ppo.Prepare(parameters, batch);
  int minibatches = 0;
  while (ppo.NextGradient(parameters, gradient)) ++minibatches;
  EXPECT_EQ(minibatches, 3 * 5);  // 22 rows: five pieces of four or five
  EXPECT_NEAR(ppo.Report().entropy, std::log(2.0), 1e-6);
}

TEST(BatchStatisticsTest, NothingIsTruncatedWithoutVtrace) {
  AlgorithmSettings settings = ExamplePpo();
  settings.kind = AlgorithmNamed("a2c");
  settings.staleness = StalenessPolicy::kBlock;
  Learner learner(ExampleSpec(), settings, 3);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  const LearnReport report = learner.Learn(batch, 0);
  EXPECT_TRUE(std::isnan(report.truncated_share));
  EXPECT_GT(report.effective_share, 0.9) << "measured all the same";
  EXPECT_LT(report.effective_share, 1.0);
}

TEST(BatchStatisticsTest, LabelsHaveNone) {
  AlgorithmSettings settings = ExamplePpo();
  settings.kind = AlgorithmNamed("bc");
  PolicyAndValue spec = ExampleSpec();
  spec.separate_value = false;
  Learner learner(spec, settings, 3);
  TrainingBatch batch = FullBatch(1, 1, 1, 1);
  const LearnReport report = learner.Learn(batch, 0);
  for (const double number : {report.effective_share, report.truncated_share, report.advantage_mean,
                              report.target_deviation, report.policy_deviation})
    EXPECT_TRUE(std::isnan(number));
}

TEST(AlgorithmMetricTest, IsAMemberOfTheReportOrAMetricOfTheAlgorithmsOwn) {
  static constexpr Metric kOwn{"train/own", MetricKind::kMean, "", "of a test", "own"};
  AlgorithmKind kind;
  kind.metrics = {{&LearnReport::entropy, 0, 1}, {&kOwn, 2, 1}, {&kOwn, 2, 3}};
  AlgorithmSums sums = {};
  sums[0] = 6;
  sums[1] = 4;
  sums[2] = 10;
  sums[3] = 0;  // nothing was measured
  LearnReport report;
  ReportMetrics(kind, sums, &report);
  EXPECT_EQ(report.entropy, 1.5);
  EXPECT_THAT(std::vector(report.metrics.begin(), report.metrics.end()),
              testing::ElementsAre(Measurements::Entry{&kOwn, 2.5}));
}

}  // namespace
}  // namespace murmurate
