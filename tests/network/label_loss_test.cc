// LabelLoss against PyTorch's losses (scripts/make_torch_label_fixtures.py), against finite
// differences of itself, and numbers worked out by hand.
#include "server/network/label_loss.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/allocations.h"
#include "tests/compute/torch_fixture.h"

namespace murmurate {
namespace {

using Numbers = LabelLoss::Numbers;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Computed {
  LabelLossSums sums;
  std::vector<float> d_outputs, d_log_deviations;
};

Computed Compute(const ActionLayout& layout, Numbers numbers, const ActionRows& rows,
                 const std::vector<float>& weight) {
  Computed computed{
      {},
      std::vector<float>(static_cast<std::size_t>(rows.rows) * layout.outputs(), kNan),
      std::vector<float>(static_cast<std::size_t>(layout.free_deviations()), kNan)};
  LabelLoss loss(layout, numbers, rows.rows);
  computed.sums = loss.Evaluate(rows, weight.data(), computed.d_outputs.data(),
                                computed.d_log_deviations.data());
  return computed;
}

struct Labels {
  ActionLayout layout;
  std::vector<float> outputs, log_deviations, weight;
  std::vector<std::int32_t> actions;
  std::vector<std::uint8_t> mask;

  explicit Labels(const Space& space) : layout(space) {}
  ActionRows rows() const {
    return {static_cast<int>(weight.size()), outputs.data(), log_deviations.data(), actions.data(),
            mask.empty() ? nullptr : mask.data()};
  }
};

Labels FromTorch(const TorchFixture& fixture, const Space& space) {
  Labels labels(space);
  labels.outputs = fixture.Floats("outputs");
  labels.weight = fixture.Floats("weight");
  if (fixture.Has("log_deviations")) labels.log_deviations = fixture.Floats("log_deviations");
  const std::vector<double>& words = fixture.Doubles("actions");
  labels.actions.resize(words.size());
  for (const ActionPart& part : labels.layout.parts())
    for (std::size_t row = 0; row < labels.weight.size(); ++row)
      for (int i = 0; i < part.count; ++i) {
        const std::size_t word = row * labels.layout.words() + part.first_word + i;
        labels.actions[word] = part.kind == ActionPart::Kind::kContinuous
                                   ? std::bit_cast<std::int32_t>(static_cast<float>(words[word]))
                                   : static_cast<std::int32_t>(words[word]);
      }
  return labels;
}

/// The fixtures' squared errors are halved, ours are not: what is missing of the loss, and the
/// slopes of numbers doubled.
double AddOtherHalf(const Labels& labels, std::vector<double>* d_outputs) {
  const std::size_t outputs = static_cast<std::size_t>(labels.layout.outputs());
  double half = 0, weight = 0;
  for (std::size_t row = 0; row < labels.weight.size(); ++row) {
    weight += labels.weight[row];
    for (const ActionPart& part : labels.layout.parts()) {
      if (part.kind != ActionPart::Kind::kContinuous) continue;
      for (int k = 0; k < part.count; ++k) {
        const std::size_t output = row * outputs + part.first_output + k;
        const double error =
            labels.outputs[output] -
            std::bit_cast<float>(labels.actions[row * labels.layout.words() + part.first_word + k]);
        if (labels.weight[row] > 0) half += labels.weight[row] * 0.5 * error * error / part.count;
        (*d_outputs)[output] *= 2;
      }
    }
  }
  return half / weight;
}

void ExpectTorch(const std::string& name, const Space& space, Numbers numbers) {
  const TorchFixture fixture("labels_" + name);
  const Labels labels = FromTorch(fixture, space);
  const Computed computed = Compute(labels.layout, numbers, labels.rows(), labels.weight);
  std::vector<double> d_outputs = fixture.Doubles("d_outputs");
  double loss = fixture.Doubles("loss")[0];
  if (numbers == Numbers::kSquaredError) loss += AddOtherHalf(labels, &d_outputs);
  EXPECT_NEAR(computed.sums.mean_loss(), loss, 1e-5) << name;
  ExpectClose(computed.d_outputs, d_outputs, 1e-6, 1e-5, name);
  if (fixture.Has("d_log_deviations"))
    ExpectClose(computed.d_log_deviations, fixture.Doubles("d_log_deviations"), 1e-5, 1e-5, name);
}

Space Mixed() {
  return Dict({{"a", Discrete(3)},
               {"b", Box({2})},
               {"c", MultiBinary(2)},
               {"d", MultiDiscrete({2, 4})},
               {"e", Box({1})}});
}

TEST(LabelLossTest, IsPyTorchsCrossEntropyAndMeanSquaredError) {
  ExpectTorch("classes", Discrete(5), Numbers::kSquaredError);
  ExpectTorch("numbers", Box({3}), Numbers::kSquaredError);
  ExpectTorch("mixed", Mixed(), Numbers::kSquaredError);
}

TEST(LabelLossTest, CloningIsPyTorchsNegativeLikelihood) {
  ExpectTorch("classes", Discrete(5), Numbers::kLikelihood);
  ExpectTorch("mixed_likelihood",
              Dict({{"a", MultiDiscrete({3, 2})}, {"b", Box({2})}, {"c", MultiBinary(1)}}),
              Numbers::kLikelihood);
}

TEST(LabelLossTest, GradientsAreItsFiniteDifferences) {
  for (const Numbers numbers : {Numbers::kSquaredError, Numbers::kLikelihood}) {
    Labels labels = FromTorch(TorchFixture("labels_mixed"), Mixed());
    const Computed computed = Compute(labels.layout, numbers, labels.rows(), labels.weight);
    const auto expect_slope = [&](float& number, float gradient, const std::string& what) {
      const float kept = number, step = 1e-2f;
      number = kept + step;
      const double above =
          Compute(labels.layout, numbers, labels.rows(), labels.weight).sums.mean_loss();
      number = kept - step;
      const double below =
          Compute(labels.layout, numbers, labels.rows(), labels.weight).sums.mean_loss();
      number = kept;
      EXPECT_NEAR(gradient, (above - below) / (2.0 * step), 2e-4 * (1.0 + std::abs(gradient)))
          << what;
    };
    for (std::size_t i = 0; i < labels.outputs.size(); i += 3)
      expect_slope(labels.outputs[i], computed.d_outputs[i], "output " + std::to_string(i));
    for (std::size_t i = 0; i < labels.log_deviations.size(); ++i)
      expect_slope(labels.log_deviations[i], computed.d_log_deviations[i], "deviation");
  }
}

// Two rows: logits (0, ln 3) with label 1: p = 3/4; logits (0, 0), label 0: p = 1/2, weight 3.
TEST(LabelLossTest, CountsByHand) {
  Labels labels(Discrete(2));
  labels.outputs = {0.0f, std::log(3.0f), 0.0f, 0.1f};
  labels.actions = {1, 0};
  labels.weight = {1.0f, 3.0f};
  const Computed computed =
      Compute(labels.layout, Numbers::kSquaredError, labels.rows(), labels.weight);
  EXPECT_DOUBLE_EQ(computed.sums.weight, 4.0);
  EXPECT_DOUBLE_EQ(computed.sums.choices, 4.0);
  EXPECT_DOUBLE_EQ(computed.sums.right, 1.0);  // the second row's likeliest is 1
  const double second = std::log1p(std::exp(0.1));
  EXPECT_NEAR(computed.sums.mean_loss(), (std::log(4.0 / 3.0) + 3.0 * second) / 4.0, 1e-6);
  EXPECT_NEAR(computed.d_outputs[1], (0.75 - 1.0) / 4.0, 1e-6);
}

// ((1 - 3)^2 + (2 - 1)^2) / 2 = 2.5; distances 2 and 1; slopes 2 (1 - 3) / 2 and 2 (2 - 1) / 2.
TEST(LabelLossTest, SquaredErrorsByHand) {
  Labels labels(Box({2}));
  labels.outputs = {1.0f, 2.0f};
  labels.actions = {std::bit_cast<std::int32_t>(3.0f), std::bit_cast<std::int32_t>(1.0f)};
  labels.log_deviations = {0.3f, -0.3f};
  labels.weight = {1.0f};
  const Computed computed =
      Compute(labels.layout, Numbers::kSquaredError, labels.rows(), labels.weight);
  EXPECT_DOUBLE_EQ(computed.sums.mean_loss(), 2.5);
  EXPECT_DOUBLE_EQ(computed.sums.numbers, 2.0);
  EXPECT_DOUBLE_EQ(computed.sums.distance, 3.0);
  EXPECT_EQ(computed.d_outputs, (std::vector<float>{-2.0f, 1.0f}));
  EXPECT_EQ(computed.d_log_deviations, (std::vector<float>{0.0f, 0.0f}));
}

TEST(LabelLossTest, AMaskedChoiceIsNeverTheLikeliest) {
  Labels labels(Discrete(3));
  labels.outputs = {5.0f, 1.0f, 2.0f};
  labels.actions = {2};
  labels.mask = {0, 1, 1};
  labels.weight = {1.0f};
  const Computed computed =
      Compute(labels.layout, Numbers::kSquaredError, labels.rows(), labels.weight);
  EXPECT_DOUBLE_EQ(computed.sums.right, 1.0);
  EXPECT_NEAR(computed.sums.mean_loss(), std::log1p(std::exp(-1.0)), 1e-6);
}

// ((1 - 3)^2 + (5 - 4)^2) / 3 = 5 / 3: the second of three numbers has no label.
TEST(LabelLossTest, ANumberWhoseLabelIsNotKnownCostsNothing) {
  Labels labels(Box({3}));
  labels.outputs = {1.0f, 2.0f, 5.0f};
  for (const float label : {3.0f, kNan, 4.0f})
    labels.actions.push_back(std::bit_cast<std::int32_t>(label));
  labels.log_deviations = {0.0f, 0.0f, 0.0f};
  labels.weight = {1.0f};
  const Computed computed =
      Compute(labels.layout, Numbers::kSquaredError, labels.rows(), labels.weight);
  EXPECT_DOUBLE_EQ(computed.sums.mean_loss(), 5.0 / 3);
  EXPECT_DOUBLE_EQ(computed.sums.numbers, 2.0);
  EXPECT_DOUBLE_EQ(computed.sums.distance, 3.0);
  EXPECT_EQ(computed.d_outputs, (std::vector<float>{-4.0f / 3, 0.0f, 2.0f / 3}));
}

TEST(LabelLossTest, RowsOfWeightZeroGetZerosWhateverTheyHold) {
  // 2 - 2.5 is the likelihood's slope of deviation 1, and half of the squared error's.
  for (const Numbers numbers : {Numbers::kSquaredError, Numbers::kLikelihood}) {
    Labels labels(Box({1}));
    labels.outputs = {kNan, 2.0f};
    labels.actions = {std::bit_cast<std::int32_t>(kNan), std::bit_cast<std::int32_t>(2.5f)};
    labels.log_deviations = {0.0f};
    labels.weight = {0.0f, 1.0f};
    const Computed computed = Compute(labels.layout, numbers, labels.rows(), labels.weight);
    EXPECT_EQ(computed.d_outputs[0], 0.0f);
    EXPECT_FLOAT_EQ(computed.d_outputs[1], numbers == Numbers::kSquaredError ? -1.0f : -0.5f);
    EXPECT_TRUE(std::isfinite(computed.sums.loss));
  }
}

TEST(LabelLossTest, AllocatesNothing) {
  const Labels labels = FromTorch(TorchFixture("labels_mixed"), Mixed());
  LabelLoss loss(labels.layout, Numbers::kLikelihood, labels.rows().rows);
  std::vector<float> d_outputs(labels.outputs.size()), d_deviations(labels.log_deviations.size());
  const std::uint64_t before = Allocations();
  loss.Evaluate(labels.rows(), labels.weight.data(), d_outputs.data(), d_deviations.data());
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace murmurate
