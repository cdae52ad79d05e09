// Tests on generated series that the quantiles that Forecaster publishes around its forecast
// contain their share of the values, at every state of the model.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

constexpr int kRows = 1500, kFrom = 100;

/// Of the rows from kFrom on.
struct Coverage {
  double rows = 0, wide = 0, narrow = 0;
  double of_98() const { return wide / rows; }
  double of_80() const { return narrow / rows; }
};

/// Makes the next value.
using Made = std::function<double(int row, Random* random)>;

Made RandomWalk() {
  return [at = 0.0](int, Random* random) mutable { return at += random->Normal(); };
}
/// Noise that is five times as large every other 300 rows.
Made SineOfChangingNoise() {
  return [](int row, Random* random) {
    return 5 * std::sin(row * 0.3) + (row / 300 % 2 == 0 ? 0.3 : 1.5) * random->Normal();
  };
}
/// Student's t of 3 degrees of freedom.
Made HeavyTails() {
  return [last = 0.0, before = 0.0](int, Random* random) mutable {
    double squares = 0;
    for (int i = 0; i < 3; ++i) squares += std::pow(random->Normal(), 2);
    const double now = 1.2 * last - 0.4 * before + random->Normal() / std::sqrt(squares / 3);
    before = std::exchange(last, now);
    return now;
  };
}

/// One value a row; per horizon, how many lay in the intervals that were published for them.
std::vector<Coverage> CoverageOf(const Layer& layer, const std::vector<int>& horizons,
                                 const Made& made) {
  ForecastSettings settings = OneField(8, horizons);
  settings.quantiles = {0.01, 0.1, 0.9, 0.99};
  Forecasting run(settings, SpecOf(settings, layer));
  const std::size_t count = horizons.size();
  std::vector<std::vector<double>> quantiles(kRows * count);
  run.on_forecast = [&](const Forecast& all) {
    for (std::size_t i = 0; i < count; ++i) {
      const Prediction& prediction = all.predictions[i];
      const auto& q = quantiles[all.row * count + i] = {prediction.quantiles.begin(),
                                                        prediction.quantiles.end()};
      if (std::isnan(q[0])) continue;
      EXPECT_TRUE(std::ranges::is_sorted(q)) << all.row;
      EXPECT_LE(q[1], prediction.published) << all.row;
      EXPECT_GE(q[2], prediction.published) << all.row;
    }
  };
  Random random(11);
  std::vector<Coverage> coverage(count);
  for (int row = 0; row < kRows; ++row) {
    const double now = made(row, &random);
    for (std::size_t i = 0; row >= kFrom + horizons.back() && i < count; ++i) {
      const auto& q = quantiles[static_cast<std::size_t>(row - horizons[i]) * count + i];
      ++coverage[i].rows;
      coverage[i].wide += now >= q[0] && now <= q[3];
      coverage[i].narrow += now >= q[1] && now <= q[2];
    }
    EXPECT_EQ(run.Say("a", {now}, row), Refusal::kNone);
    run.Learn();
  }
  return coverage;
}

struct Trial {
  const char* name;
  std::function<Made()> made;
};
class Intervals : public ::testing::TestWithParam<Trial> {};
INSTANTIATE_TEST_SUITE_P(Of, Intervals,
                         ::testing::Values(Trial{"random_walk", RandomWalk},
                                           Trial{"sine_of_changing_noise", SineOfChangingNoise},
                                           Trial{"heavy_tails", HeavyTails}),
                         [](const auto& trial) { return std::string(trial.param.name); });

TEST_P(Intervals, HoldAsManyValuesAsTheySayAtEachHorizon) {
  const Layer lstm{.units = 8, .kind = Layer::Kind::kLstm};
  const Layer mlp{.units = 16, .activation = Activation::kTanh};
  for (const Layer& layer : {lstm, mlp}) {
    const std::vector<int> horizons = {1, 6};
    const auto all = CoverageOf(layer, horizons, GetParam().made());
    for (std::size_t i = 0; i < all.size(); ++i) {
      std::printf("%s, %d ahead: 80 %% hold %.3f, 98 %% hold %.3f\n", layer.ToText().c_str(),
                  horizons[i], all[i].of_80(), all[i].of_98());
      EXPECT_GE(all[i].of_80(), 0.75);
      EXPECT_LE(all[i].of_80(), 0.85);
      EXPECT_GE(all[i].of_98(), 0.96);
      EXPECT_LE(all[i].of_98(), 0.995);
    }
  }
}

}  // namespace
}  // namespace murmurate
