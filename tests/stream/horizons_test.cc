// Several horizons: each is learned when its own row is there, once.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

const Layer kGru{.units = 8, .kind = Layer::Kind::kGru};
const Layer kTanh{.units = 16, .activation = Activation::kTanh};

/// Which rows of a batch have a label, and at which output.
std::map<std::pair<std::uint64_t, int>, int> Labels(const TrainingBatch& batch, int outputs) {
  std::map<std::pair<std::uint64_t, int>, int> labels;
  for (std::size_t place = 0; place < batch.trajectories.size(); ++place)
    for (int step = 0; step < batch.trajectories[place].steps; ++step) {
      const std::size_t at = place * static_cast<std::size_t>(batch.length) + step;
      if (batch.weight[at] == 0) continue;
      for (int output = 0; output < outputs; ++output)
        if (std::isfinite(std::bit_cast<float>(batch.action[at * outputs + output])))
          ++labels[{batch.trajectories[place].first_step + step, output}];
    }
  return labels;
}

class Horizons : public ::testing::TestWithParam<Layer> {};
INSTANTIATE_TEST_SUITE_P(Of, Horizons, ::testing::Values(kGru, kTanh), [](const auto& trial) {
  return std::string(trial.param.kind == Layer::Kind::kGru ? "gru" : "mlp");
});

/// 1 and 3 are near enough for one sequence of a window of 8, 20 is not.
TEST_P(Horizons, AreEachLearnedOnceAndWhenTheirOwnRowIsThere) {
  const ForecastSettings settings = OneField(8, {1, 3, 20});
  Forecasting run(settings, SpecOf(settings, GetParam()));
  std::map<std::pair<std::uint64_t, int>, int> learned;
  int now = 0;
  run.on_batch = [&](const TrainingBatch& batch) {
    for (const auto& [label, times] : Labels(batch, 3)) {
      learned[label] += times;
      const int due = static_cast<int>(label.first) + settings.horizons[label.second];
      EXPECT_LE(due, now) << "it has come";
      EXPECT_GT(due, now - (now % 4 == 0 ? 4 : 1)) << "just now, or since the last round";
    }
  };
  constexpr int kRows = 101;
  for (; now < kRows; ++now) {
    ASSERT_EQ(run.Say("a", {std::sin(now * 0.3)}, now), Refusal::kNone);
    run.forecaster.Predict();
    if (now < 20 || now % 4 == 0) run.Learn();
  }
  for (int j = 0; j < 3; ++j)
    for (int row = 0; row < kRows - settings.horizons[j]; ++row)
      EXPECT_EQ((learned[{row, j}]), 1) << row << " at " << settings.horizons[j];
  EXPECT_EQ(learned.size(), 3u * kRows - 1 - 3 - 20);
  EXPECT_EQ(run.learned, kRows - 20u) << "rows that were learned at their farthest horizon";
}

TEST_P(Horizons, ThatWaitToBeLearnedAreSaved) {
  const ForecastSettings settings = OneField(8, {1, 3, 20});
  const ModelSpec spec = SpecOf(settings, GetParam());
  Forecasting before(settings, spec), after(settings, spec);
  for (int i = 0; i < 30; ++i) {
    ASSERT_EQ(before.Say("a", {std::sin(i * 0.3)}, i), Refusal::kNone);
    before.forecaster.Predict();
    if (i == 25) before.Learn();
  }
  SavedState state;
  before.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(after.forecaster.Load(StateReader(state, "stream")).ok());
  std::map<std::pair<std::uint64_t, int>, int> learned;
  after.on_batch = [&](const TrainingBatch& batch) { learned = Labels(batch, 3); };
  after.Learn();
  std::map<std::pair<std::uint64_t, int>, int> expected;
  for (int j = 0; j < 3; ++j)
    for (int row = 26; row < 30; ++row) expected[{row - settings.horizons[j], j}] = 1;
  EXPECT_EQ(learned, expected);
}

/// The mean error of the model one step ahead, of 600 rows.
double ErrorOneAhead(const Layer& layer, std::vector<int> horizons) {
  const ForecastSettings settings = OneField(16, std::move(horizons));
  Forecasting run(settings, SpecOf(settings, layer));
  Random random(5);
  double model = 0, sum = 0, last = 0, before = 0;
  run.on_forecast = [&](const Forecast& all) { model = all.predictions[0].model; };
  constexpr int kRows = 600;
  for (int i = 0; i < kRows; ++i) {
    const double now = 1.6 * last - 0.8 * before + random.Normal();
    before = std::exchange(last, now);
    if (i > 0) sum += std::abs(now - model) / kRows;
    EXPECT_EQ(run.Say("a", {now}, i), Refusal::kNone);
    run.Learn();
  }
  return sum;
}

TEST_P(Horizons, AFarOneDoesNotSpoilTheNearOne) {
  const double alone = ErrorOneAhead(GetParam(), {1}), with = ErrorOneAhead(GetParam(), {1, 96});
  std::printf("one step ahead: %.3f alone, %.3f beside 96 ahead\n", alone, with);
  EXPECT_LT(with, 1.1 * alone);
}

}  // namespace
}  // namespace murmurate
