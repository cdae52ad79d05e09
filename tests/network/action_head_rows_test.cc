// Every space's log-probability, entropy and gradients, on each kernel set: against PyTorch's
// distributions, a reference in double precision, its finite differences, and numbers worked out by
// hand. Outputs are poisoned before each call.
#include "server/network/action_head_rows.h"

#include <gtest/gtest.h>

#include "server/network/action_head_kernels.h"
#include "tests/allocations.h"
#include "tests/compute/torch_fixture.h"
#include "tests/network/action_reference.h"

namespace murmurate {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class ActionHeadRowsTest : public testing::TestWithParam<KernelSet> {
 protected:
  void SetUp() override {
    kernels_ = FindKernels<ActionKernels>(GetParam());
    if (kernels_ == nullptr) GTEST_SKIP() << "this processor does not run the set";
  }

  struct Answer {
    std::vector<float> log_prob, entropy, d_outputs, d_log_deviations;
  };

  Answer Ask(const ActionLayout& layout, const ActionRows& rows, const std::vector<float>& d_log,
             const std::vector<float>& d_entropy) const {
    const std::size_t n = static_cast<std::size_t>(rows.rows);
    Answer answer{std::vector<float>(n, kNan), std::vector<float>(n, kNan),
                  std::vector<float>(n * layout.outputs(), kNan),
                  std::vector<float>(layout.free_deviations(), kNan)};
    const ActionHeadRows head(layout, kernels_);
    head.Evaluate(rows, answer.log_prob.data(), answer.entropy.data());
    head.Gradient(rows, d_log.data(), d_entropy.data(), answer.d_outputs.data(),
                  answer.d_log_deviations.data());
    return answer;
  }

  /// One row, dL/dlog_prob = dL/dentropy = 1.
  Answer AskOne(const ActionLayout& layout, const std::vector<float>& outputs,
                const std::vector<std::int32_t>& action, const std::vector<std::uint8_t>& mask = {},
                const std::vector<float>& log_deviations = {}) const {
    const ActionRows rows{1, outputs.data(), log_deviations.data(), action.data(),
                          mask.empty() ? nullptr : mask.data()};
    return Ask(layout, rows, {1}, {1});
  }

  const ActionKernels* kernels_ = nullptr;
};

struct TorchCase {
  const char* name;
  ActionLayout layout;
};

std::vector<TorchCase> TorchCases() {
  const Space mixed = Dict({{"a", Discrete(3)},
                            {"b", Box({2})},
                            {"c", MultiBinary(2)},
                            {"d", MultiDiscrete({2, 4})},
                            {"e", Box({1})}});
  const ContinuousSettings state{.state_dependent_deviation = true}, squashed{.squashed = true};
  return {{"discrete", ActionLayout(Discrete(2))},
          {"multi_discrete", ActionLayout(MultiDiscrete({3, 5, 2}))},
          {"masked", ActionLayout(MultiDiscrete({4, 3}))},
          {"binary", ActionLayout(MultiBinary(5))},
          {"gaussian", ActionLayout(Box({3}))},
          {"gaussian_state", ActionLayout(Box({2}), state)},
          {"squashed", ActionLayout(Box({2}, -1, 1), squashed)},
          {"squashed_state",
           ActionLayout(Box({3}, -1, 1), {.state_dependent_deviation = true, .squashed = true})},
          {"mixed", ActionLayout(mixed)}};
}

std::vector<std::int32_t> Words(const ActionLayout& layout, const std::vector<float>& numbers) {
  std::vector<std::int32_t> words(numbers.begin(), numbers.end());
  for (std::size_t row = 0; row < numbers.size(); row += layout.words()) {
    for (const ActionPart& part : layout.parts()) {
      if (part.kind != ActionPart::Kind::kContinuous) continue;
      for (std::size_t i = row + part.first_word, end = i + part.count; i < end; ++i)
        words[i] = std::bit_cast<std::int32_t>(numbers[i]);
    }
  }
  return words;
}

TEST_P(ActionHeadRowsTest, TorchDistributionsGiveTheSameNumbersAndGradients) {
  for (const auto& [name, layout] : TorchCases()) {
    SCOPED_TRACE(name);
    const TorchFixture fixture(std::string("action_") + name);
    const std::vector<float> outputs = fixture.Floats("outputs");
    const std::vector<std::int32_t> actions = Words(layout, fixture.Floats("actions"));
    std::vector<float> deviations;
    std::vector<std::uint8_t> mask;
    if (fixture.Has("log_deviations")) deviations = fixture.Floats("log_deviations");
    if (fixture.Has("mask"))
      for (const double m : fixture.Doubles("mask")) mask.push_back(m != 0);
    const ActionRows rows{fixture.Integers("rows")[0], outputs.data(), deviations.data(),
                          actions.data(), mask.empty() ? nullptr : mask.data()};
    const Answer got = Ask(layout, rows, fixture.Floats("d_log_prob"), fixture.Floats("d_entropy"));
    ExpectClose(got.log_prob, fixture.Doubles("log_prob"), 3e-6, 3e-6, "log_prob");
    ExpectClose(got.entropy, fixture.Doubles("entropy"), 3e-6, 3e-6, "entropy");
    ExpectClose(got.d_outputs, fixture.Doubles("d_outputs"), 3e-6, 1e-5, "d_outputs");
    if (!deviations.empty())
      ExpectClose(got.d_log_deviations, fixture.Doubles("d_log_deviations"), 2e-5, 1e-5,
                  "d_log_deviations");
  }
}

/// The loss sum_i d_log_prob log_prob + d_entropy entropy, by the reference.
double ReferenceLoss(const ActionLayout& layout, const ActionBatch& batch, int rows,
                     const std::vector<double>& outputs, const std::vector<double>& deviations) {
  double loss = 0;
  for (int i = 0; i < rows; ++i) {
    const Likelihood row = ReferenceLikelihood(
        layout, outputs.data() + i * layout.outputs(), deviations.data(),
        batch.actions.data() + i * layout.words(), batch.mask.data() + i * layout.mask_bytes());
    loss += batch.d_log_prob[i] * row.log_prob + batch.d_entropy[i] * row.entropy;
  }
  return loss;
}

TEST_P(ActionHeadRowsTest, GradientsAreTheFiniteDifferencesOfTheReference) {
  int seed = 0;
  for (const ActionLayout& layout : ManyLayouts()) {
    for (const int rows : {1, 5, 19}) {
      SCOPED_TRACE(testing::Message() << layout.outputs() << " outputs, " << rows << " rows");
      const bool masked = ++seed % 2 == 0;
      const ActionBatch batch(layout, rows, masked, seed);
      const Answer got = Ask(layout,
                             {rows, batch.outputs.data(), batch.log_deviations.data(),
                              batch.actions.data(), masked ? batch.mask.data() : nullptr},
                             batch.d_log_prob, batch.d_entropy);
      std::vector<double> x(batch.outputs.begin(), batch.outputs.end());
      std::vector<double> s(batch.log_deviations.begin(), batch.log_deviations.end());
      const auto slope = [&](double* at) {
        constexpr double kStep = 1e-6;
        const double middle = *at;
        *at = middle + kStep;
        const double above = ReferenceLoss(layout, batch, rows, x, s);
        *at = middle - kStep;
        const double below = ReferenceLoss(layout, batch, rows, x, s);
        *at = middle;
        return (above - below) / (2 * kStep);
      };
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double expected = slope(&x[i]);
        ASSERT_NEAR(got.d_outputs[i], expected, 2e-5 + 2e-5 * std::abs(expected)) << i;
      }
      for (std::size_t i = 0; i < s.size(); ++i) {
        const double expected = slope(&s[i]);
        ASSERT_NEAR(got.d_log_deviations[i], expected, 1e-4 + 2e-5 * std::abs(expected)) << i;
      }
    }
  }
}

TEST_P(ActionHeadRowsTest, ValuesAreThoseOfTheReference) {
  constexpr int kRows = 67;
  for (const ActionLayout& layout : ManyLayouts()) {
    const ActionBatch batch(layout, kRows, true, 77);
    const Answer got = Ask(layout,
                           {kRows, batch.outputs.data(), batch.log_deviations.data(),
                            batch.actions.data(), batch.mask.data()},
                           batch.d_log_prob, batch.d_entropy);
    const std::vector<double> x(batch.outputs.begin(), batch.outputs.end());
    const std::vector<double> s(batch.log_deviations.begin(), batch.log_deviations.end());
    for (int i = 0; i < kRows; ++i) {
      const Likelihood expected = ReferenceLikelihood(
          layout, x.data() + i * layout.outputs(), s.data(),
          batch.actions.data() + i * layout.words(), batch.mask.data() + i * layout.mask_bytes());
      ASSERT_NEAR(got.log_prob[i], expected.log_prob, 3e-6 + 3e-6 * std::abs(expected.log_prob));
      ASSERT_NEAR(got.entropy[i], expected.entropy, 3e-6 + 3e-6 * std::abs(expected.entropy));
    }
  }
}

TEST_P(ActionHeadRowsTest, ForbiddenChoicesHaveNoProbabilityAndNoGradient) {
  const ActionLayout layout(Discrete(4));
  // The forbidden logits are the largest, and one is infinite: the others are 1/4 and 3/4.
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> logits = {0, 1e30f, std::log(3.0f), -infinity};
  const Answer got = AskOne(layout, logits, {2}, {1, 0, 7, 0});
  EXPECT_NEAR(got.log_prob[0], std::log(0.75), 1e-6);
  EXPECT_NEAR(got.entropy[0], -0.25 * std::log(0.25) - 0.75 * std::log(0.75), 1e-6);
  EXPECT_EQ(got.d_outputs[1], 0.0f);
  EXPECT_EQ(got.d_outputs[3], 0.0f);
  // -1/4 from the log-probability, -p (log p + H) = 1/4 (log 4 - H) from the entropy.
  EXPECT_NEAR(got.d_outputs[0], -0.25 + 0.25 * (std::log(4.0) - got.entropy[0]), 1e-6);
  EXPECT_NEAR(got.d_outputs[0] + got.d_outputs[2], 0, 1e-6);
  const Answer only = AskOne(layout, logits, {0}, {1, 0, 0, 0});
  EXPECT_EQ(only.log_prob[0], 0.0f);
  EXPECT_EQ(only.entropy[0], 0.0f);
  for (const float d : only.d_outputs) EXPECT_EQ(d, 0.0f);
}

TEST_P(ActionHeadRowsTest, AForbiddenOrUnknownRecordedChoiceIsFiniteAndImpossible) {
  const ActionLayout layout(MultiDiscrete({2, 3}));
  for (const std::vector<std::int32_t>& action :
       {std::vector<std::int32_t>{0, 1}, std::vector<std::int32_t>{1, 3}, {-1, 0}, {1 << 30, 0}}) {
    const Answer got = AskOne(layout, {1, 2, 3, 4, 5}, action, {0, 1, 1, 1, 1});
    EXPECT_LT(got.log_prob[0], -1e8f);
    EXPECT_EQ(std::exp(got.log_prob[0]), 0.0f);
    EXPECT_TRUE(std::isfinite(got.log_prob[0]));
    EXPECT_TRUE(std::isfinite(got.entropy[0]));
    for (const float d : got.d_outputs) EXPECT_TRUE(std::isfinite(d));
  }
}

TEST_P(ActionHeadRowsTest, AMaskThatForbidsEverythingCountsAsOneThatAllowsEverything) {
  const ActionLayout layout(MultiDiscrete({2, 3}));
  const std::vector<float> logits = {1, 2, 3, -4, 5};
  const Answer free = AskOne(layout, logits, {1, 2}),
               none = AskOne(layout, logits, {1, 2}, {0, 0, 0, 0, 0});
  EXPECT_EQ(none.log_prob, free.log_prob);
  EXPECT_EQ(none.entropy, free.entropy);
  EXPECT_EQ(none.d_outputs, free.d_outputs);
}

TEST_P(ActionHeadRowsTest, ARowWithoutGradientGetsZerosWhateverItHolds) {
  for (const ActionLayout& layout : ManyLayouts()) {
    const int rows = 9;
    ActionBatch batch(layout, rows, false, 3);
    for (const int dead : {0, 4, 8}) {
      batch.d_log_prob[dead] = batch.d_entropy[dead] = 0;
      for (int j = 0; j < layout.outputs(); ++j)
        batch.outputs[dead * layout.outputs() + j] = j % 2 ? kNan : 1e38f;
    }
    const Answer got = Ask(
        layout,
        {rows, batch.outputs.data(), batch.log_deviations.data(), batch.actions.data(), nullptr},
        batch.d_log_prob, batch.d_entropy);
    for (int i = 0; i < rows * layout.outputs(); ++i) {
      if (i / layout.outputs() % 4 == 0) {
        EXPECT_EQ(got.d_outputs[i], 0.0f);
      } else {
        EXPECT_TRUE(std::isfinite(got.d_outputs[i]));
      }
    }
    for (const float d : got.d_log_deviations) EXPECT_TRUE(std::isfinite(d));
  }
}

TEST_P(ActionHeadRowsTest, ExtremeLogitsGiveTheLimits) {
  const Answer sure = AskOne(ActionLayout(Discrete(3)), {1e4f, -1e4f, 0}, {0});
  EXPECT_EQ(sure.log_prob[0], 0.0f);
  EXPECT_NEAR(sure.entropy[0], 0.0f, 1e-6);
  const Answer never = AskOne(ActionLayout(Discrete(3)), {1e4f, -1e4f, 0}, {1});
  EXPECT_EQ(never.log_prob[0], -2e4f);
  EXPECT_NEAR(never.d_outputs[0], -1, 1e-6);
  EXPECT_NEAR(never.d_outputs[1], 1, 1e-6);
  for (const float logit : {1e4f, -1e4f}) {
    for (const int action : {0, 1}) {
      const Answer got = AskOne(ActionLayout(MultiBinary(1)), {logit}, {action});
      EXPECT_EQ(got.log_prob[0], (logit > 0) == (action == 1) ? 0.0f : -1e4f);
      EXPECT_NEAR(got.entropy[0], 0, 1e-6);
      EXPECT_NEAR(got.d_outputs[0], action - (logit > 0 ? 1 : 0), 1e-6);
    }
  }
}

std::int32_t Bits(float x) { return std::bit_cast<std::int32_t>(x); }

TEST_P(ActionHeadRowsTest, LogDeviationsAreClampedAndGetNoGradientBeyond) {
  const ActionLayout layout(Box({1}));
  const double half = 0.5 * std::log(2 * std::numbers::pi);
  const Answer wide = AskOne(layout, {1}, {Bits(1 + std::exp(2.0f))}, {}, {100});
  EXPECT_NEAR(wide.log_prob[0], -0.5 - 2 - half, 1e-5);
  EXPECT_NEAR(wide.entropy[0], 2 + half + 0.5, 1e-6);
  EXPECT_EQ(wide.d_log_deviations[0], 0.0f);
  const Answer narrow = AskOne(layout, {0}, {Bits(0)}, {}, {-1e30f});
  EXPECT_NEAR(narrow.log_prob[0], 20 - half, 1e-5);
  EXPECT_EQ(narrow.d_log_deviations[0], 0.0f);
  for (const float end : {-20.0f, 2.0f}) {  // at the end itself: z^2 - 1 + 1 = 0 + 0
    const Answer at = AskOne(layout, {0}, {Bits(0.5f * std::exp(end))}, {}, {end});
    EXPECT_NEAR(at.d_log_deviations[0], 0.25, 1e-4);
  }
}

TEST_P(ActionHeadRowsTest, FarSamplesAndSaturatedSquashesStayFinite) {
  const ContinuousSettings squashed{.squashed = true};
  for (const ContinuousSettings& settings : {ContinuousSettings{}, squashed}) {
    const ActionLayout layout(Box({1}, -1, 1), settings);
    for (const float sample : {-3e38f, -1e20f, -50.0f, 0.0f, 1e10f, 3e38f}) {
      for (const float log_deviation : {-30.0f, 0.0f, 30.0f}) {
        const Answer got = AskOne(layout, {1}, {Bits(sample)}, {}, {log_deviation});
        for (const float x :
             {got.log_prob[0], got.entropy[0], got.d_outputs[0], got.d_log_deviations[0]})
          EXPECT_TRUE(std::isfinite(x)) << sample << " " << log_deviation;
      }
    }
  }
  // u = 50: log(1 - tanh^2) = 2 (log 2 - 50) and not the logarithm of 0.
  const Answer got = AskOne(ActionLayout(Box({1}, -1, 1), squashed), {50}, {Bits(50)}, {}, {0});
  EXPECT_NEAR(got.log_prob[0], -0.5 * std::log(2 * std::numbers::pi) - 2 * (std::numbers::ln2 - 50),
              1e-5);
}

TEST_P(ActionHeadRowsTest, NothingAllocatesAfterConstruction) {
  const ActionLayout layout = ManyLayouts().back();
  const ActionBatch batch(layout, 33, true, 1);
  const ActionHeadRows head(layout, kernels_);
  std::vector<float> log_prob(33), entropy(33), d_outputs(batch.outputs.size());
  const ActionRows rows{33, batch.outputs.data(), nullptr, batch.actions.data(), batch.mask.data()};
  const std::uint64_t before = Allocations();
  head.Evaluate(rows, log_prob.data(), entropy.data());
  head.Evaluate(rows, log_prob.data(), nullptr);
  head.Gradient(rows, batch.d_log_prob.data(), batch.d_entropy.data(), d_outputs.data(), nullptr);
  EXPECT_EQ(Allocations(), before);
}

TEST(MeanDeviation, IsOverTheContinuousNumbersOfARowWhereverTheirDeviationsAre) {
  const Space action = Dict({{"a", Discrete(2)}, {"b", Box({2})}});
  const ActionHeadRows free{ActionLayout(action)};
  ASSERT_TRUE(free.has_deviations());
  const std::vector<float> deviations = {0.0f, std::log(3.0f)}, outputs(2 * 4);
  EXPECT_NEAR(free.MeanDeviation({2, outputs.data(), deviations.data(), nullptr, nullptr}, 1), 2.0,
              1e-6);
  const ActionLayout by_state(action, {.state_dependent_deviation = true});
  std::vector<float> rows(2 * static_cast<std::size_t>(by_state.outputs()));
  const int first = by_state.outputs() + by_state.parts()[1].first_output + 2;
  rows[first] = std::log(0.5f);
  rows[first + 1] = 9.0f;  // counts as 2
  EXPECT_NEAR(
      ActionHeadRows(by_state).MeanDeviation({2, rows.data(), nullptr, nullptr, nullptr}, 1),
      (0.5 + std::exp(2.0)) / 2, 1e-5);
  EXPECT_FALSE(ActionHeadRows(ActionLayout(Discrete(2))).has_deviations());
}

INSTANTIATE_TEST_SUITE_P(, ActionHeadRowsTest,
                         testing::Values(KernelSet::kPlain, KernelSet::kAvx2, KernelSet::kAvx512),
                         [](const auto& test) {
                           return test.param == KernelSet::kPlain  ? "Plain"
                                  : test.param == KernelSet::kAvx2 ? "Avx2"
                                                                   : "Avx512";
                         });

}  // namespace
}  // namespace murmurate
