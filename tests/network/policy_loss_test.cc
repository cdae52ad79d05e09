// ClippedPolicyLoss and PolicyGradientLoss: numbers on paper, and the gradients of their own
// losses.
#include "server/network/policy_loss.h"

#include <gtest/gtest.h>

#include "server/network/action_head_kernels.h"
#include "server/network/action_head_rows.h"
#include "tests/network/action_reference.h"

namespace murmurate {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Everything a loss reads beside the head's outputs; every fifth row weighs nothing.
struct Minibatch {
  std::vector<float> values, behaviour, advantage, target, weight;

  Minibatch(const std::vector<float>& log_prob, std::uint64_t seed) {
    Random random(seed);
    const auto normal = [&] { return static_cast<float>(random.Normal()); };
    for (std::size_t i = 0; i < log_prob.size(); ++i) {
      values.push_back(normal());
      behaviour.push_back(log_prob[i] + 0.3f * normal());
      advantage.push_back(normal());
      target.push_back(normal());
      weight.push_back(i % 5 == 4 ? 0.0f : 0.5f + random.Uniform());
    }
  }
};

struct Losses {
  PolicyLossSums sums;
  std::vector<float> d_outputs, d_values, d_log_deviations;
};

Losses ByParts(const ActionLayout& layout, const PolicyLossSettings& settings,
               const ActionRows& rows, const Minibatch& m, const ActionKernels* kernels,
               decltype(&ClippedPolicyLoss) loss = ClippedPolicyLoss) {
  const std::size_t n = static_cast<std::size_t>(rows.rows);
  std::vector<float> log_prob(n, kNan), entropy(n, kNan), d_log_prob(n, kNan), d_entropy(n, kNan);
  Losses out{{},
             std::vector<float>(n * layout.outputs(), kNan),
             std::vector<float>(n, kNan),
             std::vector<float>(layout.free_deviations(), kNan)};
  const ActionHeadRows head(layout, kernels);
  head.Evaluate(rows, log_prob.data(), entropy.data());
  out.sums = loss(settings,
                  {rows.rows, log_prob.data(), entropy.data(), m.values.data(), m.behaviour.data(),
                   m.advantage.data(), m.target.data(), m.weight.data()},
                  d_log_prob.data(), d_entropy.data(), out.d_values.data(), kernels);
  head.Gradient(rows, d_log_prob.data(), d_entropy.data(), out.d_outputs.data(),
                out.d_log_deviations.data());
  return out;
}

class PolicyLossTest : public testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    kernels_ = FindKernels<ActionKernels>(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this processor does not run the set";
  }
  const ActionKernels* kernels_ = nullptr;
};

/// Two equal logits: pi = 1/2 each, d log pi(0) / d logits = (1/2, -1/2). The slope of the first
/// logit is -A r / 2 where the unclipped side is the smaller, else 0.
TEST_P(PolicyLossTest, ARatioOutsideTheClipRangeHasNoSlopeOnlyWhereItWouldGain) {
  struct Row {
    float ratio, advantage, slope, policy_loss, clipped;
  };
  const ActionLayout layout(Discrete(2));
  const std::vector<float> outputs = {0.3f, 0.3f};
  const std::vector<std::int32_t> action = {0};
  Minibatch m({0.0f}, 1);
  m.values = {1.0f};
  m.target = {3.0f};
  m.weight = {1.0f};
  for (const Row& row : {Row{1.0f, 2.0f, -1.0f, -2.0f, 0}, Row{1.5f, 2.0f, 0.0f, -2.4f, 1},
                         Row{1.5f, -2.0f, 1.5f, 3.0f, 1}, Row{0.5f, 2.0f, -0.5f, -1.0f, 1},
                         Row{0.5f, -2.0f, 0.0f, 1.6f, 1}, Row{1.1f, -2.0f, 1.1f, 2.2f, 0}}) {
    m.behaviour = {std::log(0.5f / row.ratio)};
    m.advantage = {row.advantage};
    const Losses got = ByParts(layout, {.clip = 0.2f, .entropy = 0.0f, .value_weight = 0.5f},
                               {1, outputs.data(), nullptr, action.data(), nullptr}, m, kernels_);
    EXPECT_NEAR(got.d_outputs[0], row.slope, 1e-6) << row.ratio << " " << row.advantage;
    EXPECT_NEAR(got.d_outputs[1], -row.slope, 1e-6);
    EXPECT_NEAR(got.sums.policy_loss, row.policy_loss, 2e-6);
    EXPECT_EQ(got.sums.clipped, row.clipped);
    EXPECT_NEAR(got.sums.approx_kl, row.ratio - 1 - std::log(row.ratio), 1e-6);
    EXPECT_NEAR(got.sums.entropy, std::log(2.0), 1e-6);
    EXPECT_NEAR(got.sums.value_loss, 2.0, 1e-6);  // 0.5 (1 - 3)^2
    EXPECT_NEAR(got.d_values[0], -1.0, 1e-6);     // 0.5 (1 - 3)
  }
}

/// c = 3: where A < 0 the gain is at least 3 A, and a ratio above 3 has no slope any more.
TEST_P(PolicyLossTest, TheDualClipBoundsTheRatioOfAStepThatWasWorseThanExpected) {
  struct Row {
    float ratio, advantage, slope, policy_loss;
  };
  const ActionLayout layout(Discrete(2));
  const std::vector<float> outputs = {0.3f, 0.3f};
  const std::vector<std::int32_t> action = {0};
  Minibatch m({0.0f}, 1);
  m.weight = {1.0f};
  for (const Row& row : {Row{4.0f, -2.0f, 0.0f, 6.0f}, Row{2.5f, -2.0f, 2.5f, 5.0f},
                         Row{0.5f, -2.0f, 0.0f, 1.6f}, Row{4.0f, 2.0f, 0.0f, -2.4f},
                         Row{0.5f, 2.0f, -0.5f, -1.0f}, Row{1.0f, -2.0f, 1.0f, 2.0f}}) {
    m.behaviour = {std::log(0.5f / row.ratio)};
    m.advantage = {row.advantage};
    const Losses got = ByParts(layout, {.clip = 0.2f, .dual_clip = 3.0f},
                               {1, outputs.data(), nullptr, action.data(), nullptr}, m, kernels_);
    EXPECT_NEAR(got.d_outputs[0], row.slope, 1e-6) << row.ratio << " " << row.advantage;
    EXPECT_NEAR(got.sums.policy_loss, row.policy_loss, 3e-6) << row.ratio << " " << row.advantage;
  }
}

TEST_P(PolicyLossTest, RowsOfWeightZeroCountForNothingWhateverTheyHold) {
  const int n = 19, actions = 3;
  const ActionLayout layout(Discrete(actions));
  ActionBatch batch(layout, n, false, 5);
  std::vector<float> log_prob(n);
  const ActionRows rows{n, batch.outputs.data(), nullptr, batch.actions.data(), nullptr};
  ActionHeadRows(layout, kernels_).Evaluate(rows, log_prob.data(), nullptr);
  Minibatch m(log_prob, 5);
  for (const int row : {2, 7, 18}) m.weight[row] = 0;
  const PolicyLossSettings settings{.clip = 0.2f, .entropy = 0.03f, .value_weight = 0.7f};
  const Losses without = ByParts(layout, settings, rows, m, kernels_);
  for (const int row : {2, 7, 18}) {
    for (int j = 0; j < actions; ++j) batch.outputs[row * actions + j] = kNan;
    m.values[row] = m.behaviour[row] = m.advantage[row] = m.target[row] = kNan;
  }
  const Losses got = ByParts(layout, settings, rows, m, kernels_);
  EXPECT_EQ(got.sums.policy_loss, without.sums.policy_loss);
  EXPECT_EQ(got.sums.value_loss, without.sums.value_loss);
  EXPECT_EQ(got.sums.entropy, without.sums.entropy);
  EXPECT_EQ(got.sums.approx_kl, without.sums.approx_kl);
  EXPECT_EQ(got.sums.clipped, without.sums.clipped);
  EXPECT_EQ(got.d_outputs, without.d_outputs);
  EXPECT_EQ(got.d_values, without.d_values);
  for (int j = 0; j < actions; ++j) EXPECT_EQ(got.d_outputs[7 * actions + j], 0.0f);
}

double PpoGain(const PolicyLossSettings& settings, double log_prob, double behaviour, double a) {
  const double r = std::exp(log_prob - behaviour);
  return std::min(r * a, std::clamp(r, 1.0 - settings.clip, 1.0 + settings.clip) * a);
}

double DualClipGain(const PolicyLossSettings& settings, double log_prob, double behaviour,
                    double a) {
  const double gain = PpoGain(settings, log_prob, behaviour, a);
  return a < 0 ? std::max(gain, settings.dual_clip * a) : gain;
}

double PolicyGradientGain(const PolicyLossSettings&, double log_prob, double, double a) {
  return a * log_prob;
}

/// The loss as its header writes it, by the double-precision reference.
double ReferenceLoss(const ActionLayout& layout, const PolicyLossSettings& settings,
                     const ActionBatch& batch, const Minibatch& m, const std::vector<double>& x,
                     const std::vector<double>& s, decltype(&PpoGain) gain) {
  double loss = 0, weight = 0;
  for (std::size_t i = 0; i < m.weight.size(); ++i) {
    const Likelihood row = ReferenceLikelihood(layout, x.data() + i * layout.outputs(), s.data(),
                                               batch.actions.data() + i * layout.words(),
                                               batch.mask.data() + i * layout.mask_bytes());
    const double error = m.values[i] - m.target[i];
    loss += m.weight[i] *
            (-gain(settings, row.log_prob, m.behaviour[i], m.advantage[i]) +
             settings.value_weight * 0.5 * error * error - settings.entropy * row.entropy);
    weight += m.weight[i];
  }
  return loss / weight;
}

void ExpectFiniteDifferences(const ActionKernels* kernels, decltype(&ClippedPolicyLoss) loss,
                             decltype(&PpoGain) gain, float dual_clip = 0.0f) {
  const PolicyLossSettings settings{
      .clip = 0.25f, .dual_clip = dual_clip, .entropy = 0.05f, .value_weight = 0.5f};
  for (const ActionLayout& layout : ManyLayouts()) {
    const int n = 11;
    const ActionBatch batch(layout, n, true, 21);
    const ActionRows rows{n, batch.outputs.data(), batch.log_deviations.data(),
                          batch.actions.data(), batch.mask.data()};
    std::vector<float> log_prob(n);
    ActionHeadRows(layout, kernels).Evaluate(rows, log_prob.data(), nullptr);
    const Minibatch m(log_prob, 22);
    const Losses got = ByParts(layout, settings, rows, m, kernels, loss);
    std::vector<double> x(batch.outputs.begin(), batch.outputs.end());
    std::vector<double> s(batch.log_deviations.begin(), batch.log_deviations.end());
    const auto slope = [&](double* at) {
      constexpr double kStep = 1e-6;
      const double middle = *at;
      *at = middle + kStep;
      const double above = ReferenceLoss(layout, settings, batch, m, x, s, gain);
      *at = middle - kStep;
      const double below = ReferenceLoss(layout, settings, batch, m, x, s, gain);
      *at = middle;
      return (above - below) / (2 * kStep);
    };
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double expected = slope(&x[i]);
      // Where a log-probability is -800, a float of it is off by 5e-5, and so is its ratio.
      ASSERT_NEAR(got.d_outputs[i], expected, 3e-6 + 1e-4 * std::abs(expected)) << i;
    }
    for (std::size_t i = 0; i < s.size(); ++i) {
      const double expected = slope(&s[i]);
      ASSERT_NEAR(got.d_log_deviations[i], expected, 1e-5 + 1e-4 * std::abs(expected)) << i;
    }
  }
}

TEST_P(PolicyLossTest, GradientsThroughTheHeadAreFiniteDifferences) {
  ExpectFiniteDifferences(kernels_, ClippedPolicyLoss, PpoGain);
}

/// Ratios here are exp(0.3 normal): 1.3 cuts some.
TEST_P(PolicyLossTest, GradientsOfTheDualClipThroughTheHeadAreFiniteDifferences) {
  ExpectFiniteDifferences(kernels_, ClippedPolicyLoss, DualClipGain, 1.3f);
}

TEST_P(PolicyLossTest, PolicyGradientsThroughTheHeadAreFiniteDifferences) {
  ExpectFiniteDifferences(kernels_, PolicyGradientLoss, PolicyGradientGain);
}

/// V = 3, target 1, weights 1, 0 and 3: 0.5 (V - target)^2 = 2, by V 2.
TEST_P(PolicyLossTest, ThePolicyGradientLossOnPaper) {
  const std::vector<float> log_prob = {-1, kNan, -2}, behaviour = {-1, kNan, -1.5f};
  const std::vector<float> entropy = {0.5f, kNan, 0.25f}, values = {3, kNan, 3};
  const std::vector<float> advantage = {2, kNan, -1}, target = {1, kNan, 1}, weight = {1, 0, 3};
  std::vector<float> d_log_prob(3), d_entropy(3), d_values(3);
  const PolicyLossSums sums =
      PolicyGradientLoss({.entropy = 0.1f, .value_weight = 0.25f},
                         {3, log_prob.data(), entropy.data(), values.data(), behaviour.data(),
                          advantage.data(), target.data(), weight.data()},
                         d_log_prob.data(), d_entropy.data(), d_values.data(), kernels_);
  EXPECT_EQ(sums.weight, 4);
  EXPECT_NEAR(sums.policy_loss, 1 * 2 * 1 + 3 * -1 * 2, 1e-6);
  EXPECT_NEAR(sums.value_loss, 4 * 2, 1e-6);
  EXPECT_NEAR(sums.entropy, 0.5 + 3 * 0.25, 1e-6);
  EXPECT_NEAR(sums.approx_kl, 3 * (std::exp(-0.5) - 1 + 0.5), 1e-6);
  EXPECT_EQ(sums.clipped, 0);
  const std::vector<float> by_log_prob = {-0.5f, 0, 0.75f};
  const std::vector<float> by_entropy = {-0.025f, 0, -0.075f}, by_value = {0.125f, 0, 0.375f};
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(d_log_prob[i], by_log_prob[i], 1e-7);
    EXPECT_NEAR(d_entropy[i], by_entropy[i], 1e-7);
    EXPECT_NEAR(d_values[i], by_value[i], 1e-7);
  }
}

TEST_P(PolicyLossTest, TheChangeIsMeasuredFromTheBeginningOfTheUpdate) {
  const std::vector<float> log_prob = {-1, -2}, behaviour = {-3, -0.25f}, start = {-1.5f, -1.75f};
  const std::vector<float> one = {1, 1}, weight = {1, 3};
  std::vector<float> d_log_prob(2), d_entropy(2), d_values(2);
  for (const auto loss : {ClippedPolicyLoss, PolicyGradientLoss}) {
    PolicyLossRows rows{2,          log_prob.data(), one.data(),   one.data(), behaviour.data(),
                        one.data(), one.data(),      weight.data()};
    rows.start_log_prob = start.data();
    const PolicyLossSums sums =
        loss({}, rows, d_log_prob.data(), d_entropy.data(), d_values.data(), kernels_);
    const double up = std::exp(0.5) - 1 - 0.5, down = std::exp(-0.25) - 1 + 0.25;
    EXPECT_NEAR(sums.approx_kl, up + 3 * down, 1e-6);
  }
}

TEST_P(PolicyLossTest, AMinibatchWithoutWeightHasNoGradient) {
  const std::vector<float> zero(3), one(3, kNan);
  std::vector<float> d_log_prob(3, kNan), d_entropy(3, kNan), d_values(3, kNan);
  const PolicyLossSums sums = ClippedPolicyLoss(
      {}, {3, one.data(), one.data(), one.data(), one.data(), one.data(), one.data(), zero.data()},
      d_log_prob.data(), d_entropy.data(), d_values.data(), kernels_);
  EXPECT_EQ(sums.weight, 0);
  EXPECT_EQ(sums.policy_loss, 0);
  EXPECT_EQ(d_log_prob, zero);
  EXPECT_EQ(d_entropy, zero);
  EXPECT_EQ(d_values, zero);
}

TEST_P(PolicyLossTest, AnImpossibleActionLeavesTheLossFinite) {
  const std::vector<float> log_prob = {-1e9f, 0}, behaviour = {-1, -1e9f}, one = {1, 1};
  for (const float sign : {1.0f, -1.0f}) {
    const std::vector<float> advantage(2, sign);
    std::vector<float> d_log_prob(2), d_entropy(2), d_values(2);
    const PolicyLossSums sums =
        ClippedPolicyLoss({},
                          {2, log_prob.data(), one.data(), one.data(), behaviour.data(),
                           advantage.data(), one.data(), one.data()},
                          d_log_prob.data(), d_entropy.data(), d_values.data(), kernels_);
    EXPECT_TRUE(std::isfinite(sums.policy_loss));
    EXPECT_TRUE(std::isfinite(sums.approx_kl));
    for (const float d : d_log_prob) EXPECT_TRUE(std::isfinite(d));
  }
}

INSTANTIATE_TEST_SUITE_P(, PolicyLossTest,
                         testing::Values(KernelSet::kPlain, KernelSet::kAvx2, KernelSet::kAvx512),
                         [](const auto& test) {
                           return test.param == KernelSet::kPlain  ? "Plain"
                                  : test.param == KernelSet::kAvx2 ? "Avx2"
                                                                   : "Avx512";
                         });

}  // namespace
}  // namespace murmurate
