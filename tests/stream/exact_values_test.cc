// Values that float32 cannot hold: meters, odometers, counters of bytes, times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

struct Counter {
  const char* name;
  double first, step;
};

class ExactValues : public testing::TestWithParam<Counter> {};

TEST_P(ExactValues, AreForecastByTheLastOneAndScoredByTheirSteps) {
  const auto [name, first, step] = GetParam();
  const ForecastSettings settings = OneField(4);
  Forecasting run(settings, SpecOf(settings, {.units = 4, .kind = Layer::Kind::kGru}));
  double baseline = 0, model = 0, error = 0;
  run.on_forecast = [&](const Forecast& all) {
    const Prediction& made = all.predictions[0];
    EXPECT_EQ(all.values[0], made.baseline) << "the newest value";
    baseline = made.baseline;
    model = made.model;
    error = made.score.baseline;
  };
  for (int i = 0; i < 300; ++i) {
    const double value = first + step * i;
    ASSERT_EQ(run.Say("a", {value}, i), Refusal::kNone);
    run.Learn();
    EXPECT_EQ(baseline, value);
    if (i == 0) continue;
    EXPECT_NEAR(error, step, 1e-6 * step) << "of the naive forecast is one step";
  }
  EXPECT_NEAR(model, first + step * 300, 0.5 * step) << "one step further is easy to learn";
}

INSTANTIATE_TEST_SUITE_P(Counters, ExactValues,
                         testing::Values(Counter{"meter", 123'456'789, 3},
                                         Counter{"seconds", 1.7e9, 1},
                                         Counter{"bytes", 9e14, 1500}),
                         [](const auto& counter) { return counter.param.name; });

TEST(ExactValues, AreSummedAndAveragedOnAGridWithoutLoss) {
  ForecastSettings settings = OneField(4);
  settings.every_s = 10;
  settings.resample = ForecastSettings::Resample::kMean;
  Forecasting run(settings, SpecOf(settings, {.units = 4, .kind = Layer::Kind::kGru}));
  double row = 0;
  run.on_forecast = [&](const Forecast& all) { row = all.values[0]; };
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(run.Say("a", {123'456'789.0 + i}, 1000 + i), Refusal::kNone);
  ASSERT_EQ(run.Say("a", {0}, 1010), Refusal::kNone);
  run.forecaster.Predict();
  EXPECT_EQ(row, 123'456'790.5);
}

TEST(ExactValues, SurviveACheckpoint) {
  const ForecastSettings settings = OneField(4);
  const ModelSpec spec = SpecOf(settings, {.units = 4, .kind = Layer::Kind::kGru});
  Forecasting run(settings, spec), again(settings, spec);
  for (int i = 0; i < 30; ++i) ASSERT_EQ(run.Say("a", {123'456'789.0 + 3 * i}, i), Refusal::kNone);
  run.forecaster.Predict();
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  const Forecaster::Totals before = again.forecaster.totals();
  double error = 0;
  again.on_forecast = [&](const Forecast& all) { error = all.predictions[0].score.baseline; };
  ASSERT_EQ(again.Say("a", {123'456'789.0 + 90}, 30), Refusal::kNone);
  again.forecaster.Predict();
  EXPECT_EQ(again.forecaster.totals().scored, before.scored + 1);
  EXPECT_EQ(error, 3) << "of what was forecast before the checkpoint";
}

}  // namespace
}  // namespace murmurate
