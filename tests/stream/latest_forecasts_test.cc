#include "server/stream/latest_forecasts.h"

#include <gtest/gtest.h>

#include <map>

namespace murmurate {
namespace {

ForecastSettings TwoHorizons() {
  ForecastSettings settings;
  settings.fields = {{.name = "hum"}, {.name = "temp"}};
  settings.targets = {1};
  settings.horizons = {1, 3};
  settings.every_s = 10;
  return settings;
}

void Give(const std::string& device, double value, LatestForecasts* latest) {
  const double values[] = {0.5, value};
  const double quantiles[] = {value - 1, value, value + 2};
  const Prediction predictions[] = {{.published = value + 1, .quantiles = quantiles},
                                    {.published = value + 3}};
  latest->Take({.device = device, .time_ns = 5, .values = values, .predictions = predictions});
}

std::map<std::string, MetricValue> Of(const LatestForecasts& latest, const Metric& metric) {
  Reading reading("stream");
  latest.Measure(&reading);
  std::map<std::string, MetricValue> found;
  for (const MetricSample& sample : reading.samples())
    if (*sample.metric == metric) found[sample.label] = sample.value;
  return found;
}

TEST(LatestForecasts, HaveTheNewestRowOfADeviceWithItsBand) {
  const ForecastSettings settings = TwoHorizons();
  LatestForecasts latest(settings);
  Give("pump", 20, &latest);
  Give("pump", 21, &latest);
  const std::string one = "pump: temp +1", three = "pump: temp +3";
  EXPECT_EQ(Of(latest, kForecastValue)[one].number(), 21);
  EXPECT_EQ(Of(latest, kForecastPublished)[one].number(), 22);
  EXPECT_EQ(Of(latest, kForecastPublished)[three].number(), 24);
  EXPECT_EQ(Of(latest, kForecastLow)[one].number(), 20);
  EXPECT_EQ(Of(latest, kForecastHigh)[one].number(), 23);
  EXPECT_TRUE(Of(latest, kForecastLow)[three].empty()) << "no error of it is known yet";
  EXPECT_EQ(Of(latest, kForecastAhead)[one].number(), 10);
  EXPECT_EQ(Of(latest, kForecastAhead)[three].number(), 30);
}

TEST(LatestForecasts, AreOfTheFirstDevicesOnly) {
  const ForecastSettings settings = TwoHorizons();
  LatestForecasts latest(settings);
  for (int i = 0; i < 20; ++i) Give("pump-" + std::to_string(i), i, &latest);
  EXPECT_EQ(Of(latest, kForecastValue).size(), 2 * LatestForecasts::kMostDevices);
  EXPECT_EQ(Of(latest, kForecastValue).count("pump-3: temp +1"), 1u);
  EXPECT_EQ(Of(latest, kForecastValue).count("pump-4: temp +1"), 0u);
}

}  // namespace
}  // namespace murmurate
