#include "server/compute/losses.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "server/compute/learner_kernels.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

/// On both sides of the clip range of 0.2 and inside, never near its kinks (-0.223 and 0.182).
constexpr float kLogRatios[] = {-0.6f, -0.1f, 0.0f, 0.1f, 0.5f};

/// One minibatch in double, and the loss written down from its definition.
struct Minibatch {
  int rows, actions;
  PpoLossSettings settings{.clip = 0.2f, .entropy = 0.03f, .value_weight = 0.7f};
  std::vector<float> logits, values, log_prob, advantage, target, weight, d_logits, d_values;
  std::vector<std::int32_t> action;

  Minibatch(int r, int n, std::uint64_t seed) : rows(r), actions(n) {
    Random random(seed);
    const auto normal = [&] { return static_cast<float>(random.Normal()); };
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < actions; ++j) logits.push_back(2 * normal());
      action.push_back(static_cast<int>(random.UniformInt(actions)));
      values.push_back(normal());
      advantage.push_back(normal());
      target.push_back(normal());
      weight.push_back(i % 3 == 1 ? 0.5f : 1.0f);
      log_prob.push_back(static_cast<float>(LogPi(i, action[i])) - kLogRatios[i % 5]);
    }
    d_logits.resize(logits.size());
    d_values.resize(values.size());
  }

  double LogPi(int i, int j) const {
    double sum = 0;
    for (int k = 0; k < actions; ++k) sum += std::exp(double{logits[i * actions + k]});
    return logits[i * actions + j] - std::log(sum);
  }

  double Loss() const {
    double loss = 0, total = 0;
    for (int i = 0; i < rows; ++i) {
      if (weight[i] == 0) continue;
      const double ratio = std::exp(LogPi(i, action[i]) - log_prob[i]);
      const double low = 1 - double{settings.clip}, high = 1 + double{settings.clip};
      const double clipped = std::min(std::max(ratio, low), high);
      double entropy = 0;
      for (int j = 0; j < actions; ++j) entropy -= std::exp(LogPi(i, j)) * LogPi(i, j);
      const double error = double{values[i]} - target[i];
      loss +=
          weight[i] * (-std::min(ratio * advantage[i], clipped * advantage[i]) +
                       settings.value_weight * 0.5 * error * error - settings.entropy * entropy);
      total += weight[i];
    }
    return loss / total;
  }

  /// Central difference of Loss() with respect to one of the inputs.
  double Slope(float* input) {
    const float keep = *input, step = 1e-3f;
    *input = keep + step;
    const double above = Loss(), width_above = *input;
    *input = keep - step;
    const double below = Loss(), width_below = *input;
    *input = keep;
    return (above - below) / (width_above - width_below);
  }

  PpoLossSums Run(const LearnerKernels& kernels) {
    PpoLossSums sums;
    for (const float w : weight) sums.weight += w;
    const PpoCall call{settings,
                       static_cast<float>(1 / sums.weight),
                       rows,
                       actions,
                       logits.data(),
                       values.data(),
                       action.data(),
                       log_prob.data(),
                       advantage.data(),
                       target.data(),
                       weight.data(),
                       d_logits.data(),
                       d_values.data()};
    kernels.ppo_loss(call, &sums);
    return sums;
  }
};

class LossesTest : public testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    kernels = FindLearnerKernels(GetParam());
    if (kernels == nullptr) GTEST_SKIP() << "this processor lacks the instructions";
  }
  const LearnerKernels* kernels = nullptr;
};

TEST_P(LossesTest, GradientsAgreeWithFiniteDifferences) {
  for (const int actions : {2, 3, 5, 18})
    for (const int rows : {1, 5, 16, 33}) {
      Minibatch batch(rows, actions, 10 * rows + actions);
      batch.Run(*kernels);
      for (std::size_t i = 0; i < batch.logits.size(); ++i)
        EXPECT_NEAR(batch.d_logits[i], batch.Slope(&batch.logits[i]), 2e-5) << rows << " " << i;
      for (int i = 0; i < rows; ++i)
        EXPECT_NEAR(batch.d_values[i], batch.Slope(&batch.values[i]), 2e-5) << rows << " " << i;
    }
}

/// Two equal logits: pi = 1/2 each, d log pi(0) / d logits = (1/2, -1/2).
Minibatch OneRow(float ratio, float advantage) {
  Minibatch batch(1, 2, 1);
  batch.settings = {.clip = 0.2f, .entropy = 0.0f, .value_weight = 0.5f};
  batch.logits = {0.3f, 0.3f};
  batch.action = {0};
  batch.log_prob = {std::log(0.5f / ratio)};
  batch.advantage = {advantage};
  batch.values = {1.0f};
  batch.target = {3.0f};
  batch.weight = {1.0f};
  return batch;
}

TEST_P(LossesTest, ARatioOutsideTheClipRangeHasNoSlopeOnlyWhereItWouldGain) {
  struct Row {
    float ratio, advantage, slope, policy_loss, clipped;
  };
  // slope of the first logit: -A r / 2 where the unclipped side is the smaller, else 0
  for (const Row& row : {Row{1.0f, 2.0f, -1.0f, -2.0f, 0}, Row{1.5f, 2.0f, 0.0f, -2.4f, 1},
                         Row{1.5f, -2.0f, 1.5f, 3.0f, 1}, Row{0.5f, 2.0f, -0.5f, -1.0f, 1},
                         Row{0.5f, -2.0f, 0.0f, 1.6f, 1}, Row{1.1f, -2.0f, 1.1f, 2.2f, 0}}) {
    Minibatch batch = OneRow(row.ratio, row.advantage);
    const PpoLossSums sums = batch.Run(*kernels);
    EXPECT_NEAR(batch.d_logits[0], row.slope, 1e-6) << row.ratio << " " << row.advantage;
    EXPECT_NEAR(batch.d_logits[1], -row.slope, 1e-6);
    EXPECT_NEAR(sums.policy_loss, row.policy_loss, 2e-6);
    EXPECT_EQ(sums.clipped, row.clipped);
    EXPECT_NEAR(sums.approx_kl, row.ratio - 1 - std::log(row.ratio), 1e-6);
    EXPECT_NEAR(sums.entropy, std::log(2.0), 1e-6);
    EXPECT_NEAR(sums.value_loss, 2.0, 1e-6);     // 0.5 (1 - 3)^2
    EXPECT_NEAR(batch.d_values[0], -1.0, 1e-6);  // 0.5 (1 - 3)
  }
}

TEST_P(LossesTest, RowsOfWeightZeroCountForNothingWhateverTheyHold) {
  Minibatch batch(19, 3, 5);
  Minibatch without = batch;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const int row : {2, 7, 18}) {
    batch.weight[row] = without.weight[row] = 0;
    for (int j = 0; j < 3; ++j) batch.logits[row * 3 + j] = nan;
    batch.values[row] = batch.log_prob[row] = batch.advantage[row] = batch.target[row] = nan;
    batch.action[row] = -12345678;
  }
  const PpoLossSums sums = batch.Run(*kernels), expected = without.Run(*kernels);
  EXPECT_EQ(sums.policy_loss, expected.policy_loss);
  EXPECT_EQ(sums.value_loss, expected.value_loss);
  EXPECT_EQ(sums.entropy, expected.entropy);
  EXPECT_EQ(sums.approx_kl, expected.approx_kl);
  EXPECT_EQ(sums.clipped, expected.clipped);
  EXPECT_EQ(batch.d_logits, without.d_logits);
  EXPECT_EQ(batch.d_values, without.d_values);
  for (int j = 0; j < 3; ++j) EXPECT_EQ(batch.d_logits[7 * 3 + j], 0.0f);
}

TEST_P(LossesTest, LogProbabilitiesAreRightForLargeLogitsToo) {
  for (const int actions : {2, 7, 130})
    for (const int rows : {1, 8, 21}) {
      Minibatch batch(rows, actions, 3);
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < actions; ++j) batch.logits[i * actions + j] += 40.0f * (i % 3 - 1);
      std::vector<float> log_prob(rows + 1, 9.0f);
      kernels->log_probabilities(rows, actions, batch.logits.data(), batch.action.data(),
                                 log_prob.data());
      for (int i = 0; i < rows; ++i)
        EXPECT_NEAR(log_prob[i], batch.LogPi(i, batch.action[i]), 5e-6) << rows << " " << i;
      EXPECT_EQ(log_prob[rows], 9.0f);
    }
}

INSTANTIATE_TEST_SUITE_P(, LossesTest,
                         testing::Values(KernelSet::kPlain, KernelSet::kAvx2, KernelSet::kAvx512),
                         [](const auto& test) {
                           if (test.param == KernelSet::kPlain) return "Plain";
                           return test.param == KernelSet::kAvx2 ? "Avx2" : "Avx512";
                         });

TEST(PpoLossTest, ABatchOfPaddingOnlyHasZeroGradients) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float logits[] = {nan, nan}, one[] = {nan}, weight[] = {0.0f};
  const std::int32_t action[] = {0};
  float d_logits[] = {1, 1}, d_value = 1;
  const PpoLossSums sums =
      PpoLoss({}, 1, 2, logits, one, action, one, one, one, weight, d_logits, &d_value);
  EXPECT_EQ(sums.weight, 0);
  EXPECT_EQ(sums.policy_loss, 0);
  EXPECT_EQ(d_logits[0], 0.0f);
  EXPECT_EQ(d_logits[1], 0.0f);
  EXPECT_EQ(d_value, 0.0f);
}

}  // namespace
}  // namespace murmurate
