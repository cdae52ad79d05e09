// What a season adds: one more naive forecast beside the last value, and never less.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

const Layer kGru{.units = 8, .kind = Layer::Kind::kGru};

TEST(Season, JoinsTheLastValueAndIsTheNaiveForecastOnceItIsTheBetterOne) {
  ForecastSettings settings = OneField(4);
  settings.season = 10;
  settings.learn = false;
  Forecasting run(settings, SpecOf(settings, kGru));
  double baseline = 0;
  run.on_forecast = [&](const Forecast& all) { baseline = all.predictions[0].baseline; };
  for (int i = 0; i < 60; ++i) {
    if (i > 0 && i < 30) {
      EXPECT_EQ(baseline, (i - 1) % 10) << "the last value: the season is known from row 10 on, "
                                           "and has to be scored 20 times";
    }
    if (i >= 31) {
      EXPECT_EQ(baseline, i % 10) << "that of a season ago";
    }
    ASSERT_EQ(run.Say("a", {static_cast<double>(i % 10)}, i), Refusal::kNone);
    run.Learn();
  }
}

TEST(Season, ThatDoesNotHoldLeavesTheLastValue) {
  ForecastSettings settings = OneField(4);
  settings.season = 10;
  settings.learn = false;
  Forecasting run(settings, SpecOf(settings, kGru));
  double baseline = 0, value = 0;
  run.on_forecast = [&](const Forecast& all) { baseline = all.predictions[0].baseline; };
  Random random(3);
  for (int i = 0; i < 300; ++i) {
    value += random.Normal();
    ASSERT_EQ(run.Say("a", {value}, i), Refusal::kNone);
    run.Learn();
    EXPECT_EQ(baseline, value);
  }
}

using Made = std::function<double(int row, Random* random)>;

/// Of what is published, the mean absolute error, rows 24 to 2000, mean of eight seeds.
double ErrorOf(const std::function<Made()>& make, int season) {
  constexpr int kRows = 2000, kSeeds = 8;
  double sum = 0;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    ForecastSettings settings = OneField(16);
    settings.season = season;
    Forecasting run(settings, SpecOf(settings, kGru), Forecasting::Algorithm(16, 64, 2e-3),
                    static_cast<std::uint64_t>(seed));
    double published = 0;
    run.on_forecast = [&](const Forecast& all) { published = all.predictions[0].published; };
    Random random(static_cast<std::uint64_t>(seed));
    const Made made = make();
    for (int i = 0; i < kRows; ++i) {
      const double now = made(i, &random);
      if (i >= 24) sum += std::abs(now - published);
      EXPECT_EQ(run.Say("a", {now}, i), Refusal::kNone);
      run.Learn();
    }
  }
  return sum / kSeeds / (2000 - 24);
}

Made Walk() {
  return [at = 0.0](int, Random* random) mutable { return at += random->Normal(); };
}
Made Smooth() {
  return [at = 0.0, step = 0.0](int, Random* random) mutable {
    return at += step = 0.9 * step + random->Normal();
  };
}
Made Slow() {
  return [](int row, Random* random) { return 20 * std::sin(row * 0.02) + random->Normal(); };
}
Made Daily() {
  return [](int row, Random* random) {
    return (row % 24 < 8 ? 0 : 10) + 5 * std::sin(row * M_PI / 12) + random->Normal();
  };
}

/// The season is 24 rows whether the series has one or not.
TEST(Season, NeverMakesForecastsWorseAndHelpsWhereThereIsOne) {
  constexpr std::pair<const char*, Made (*)()> kWithout[] = {
      {"walk", Walk}, {"smooth", Smooth}, {"slow", Slow}};
  for (const auto& [name, made] : kWithout) {
    const double without = ErrorOf(made, 0), with = ErrorOf(made, 24);
    std::printf("%s: published %.3f without a season, %.3f with one\n", name, without, with);
    EXPECT_LT(with, 1.03 * without) << name;
  }
  const double without = ErrorOf(Daily, 0), with = ErrorOf(Daily, 24);
  std::printf("daily: published %.3f without a season, %.3f with one\n", without, with);
  EXPECT_LT(with, 0.9 * without);
}

}  // namespace
}  // namespace murmurate
