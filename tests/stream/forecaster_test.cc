// Forecaster with the learner that teaches it: what is forecast, scored, learned and saved.
#include "server/stream/forecaster.h"

#include <gtest/gtest.h>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

Layer Lstm(int units) { return {.units = units, .kind = Layer::Kind::kLstm}; }
Layer Gru(int units) { return {.units = units, .kind = Layer::Kind::kGru}; }
Layer Tanh(int units) {
  return {.units = units, .activation = Activation::kTanh};
}

struct Trial {
  const char* name;
  Layer layer;
};
class Series : public ::testing::TestWithParam<Trial> {};
INSTANTIATE_TEST_SUITE_P(, Series,
                         ::testing::Values(Trial{"lstm", Lstm(16)}, Trial{"gru", Gru(16)},
                                           Trial{"mlp", Tanh(32)}),
                         [](const auto& trial) { return std::string(trial.param.name); });

TEST_P(Series, OfASineIsForecastTenTimesBetterThanItsLastValue) {
  const ForecastSettings settings = OneField(16);
  Forecasting run(settings, SpecOf(settings, GetParam().layer));
  for (int i = 0; i < 6000; ++i) {
    ASSERT_EQ(run.Say("a", {std::sin(i * 0.3f)}, i), Refusal::kNone);
    run.Learn();
  }
  const auto& totals = run.forecaster.totals();
  printf("model %.4f baseline %.4f skill %.3f\n", totals.model_error, totals.baseline_error, totals.skill());
  EXPECT_EQ(totals.rows, 6000u);
  EXPECT_EQ(totals.forecasts, 6000u);
  EXPECT_EQ(totals.learned, 5999u);
  EXPECT_EQ(totals.unlearned, 0u);
  EXPECT_GT(totals.skill(), 0.9);
}

TEST_P(Series, OfAnArProcessIsForecastNearlyAsWellAsItCanBe) {
  // x_t = 1.6 x_{t-1} - 0.8 x_{t-2} + e_t: nobody can do better than |e| = sqrt(2/pi) on average.
  const ForecastSettings settings = OneField(16);
  Forecasting run(settings, SpecOf(settings, GetParam().layer));
  Random random(3);
  double before = 0, last = 0, best = 0, mine = 0;
  float forecast = 0;
  run.on_forecast = [&](const Forecast& all) { forecast = all.predictions[0].published; };
  for (int i = 0; i < 20000; ++i) {
    const double noise = random.Normal();
    const double now = 1.6 * last - 0.8 * before + noise;
    before = last;
    last = now;
    if (i >= 15000) {
      best += std::abs(noise);
      mine += std::abs(now - forecast);
    }
    ASSERT_EQ(run.Say("a", {static_cast<float>(now)}, i), Refusal::kNone);
    run.Learn();
  }
  printf("ratio %.4f skill %.3f\n", mine / best, run.forecaster.totals().skill());
  EXPECT_LT(mine, 1.1 * best);
}

}  // namespace
}  // namespace murmurate
