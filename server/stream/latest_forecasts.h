// LatestForecasts: the newest forecasts of the first devices of a stream, for status and the page.
//
//   "pump-1: temp +2" -> the row's value, what is forecast for two rows later, its band
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "server/metrics/reading.h"
#include "server/stream/forecast.h"
#include "server/stream/stream_settings.h"

namespace murmurate {

// Each with a label: the device, the target and its horizon.
inline constexpr Metric kForecastValue{"forecast/value",    MetricKind::kGauge, "",
                                       "of the newest row", "latest.*.value",   false};
inline constexpr Metric kForecastPublished{"forecast/published",
                                           MetricKind::kGauge,
                                           "",
                                           "what is forecast from that row",
                                           "latest.*.published",
                                           false};
inline constexpr Metric kForecastLow{"forecast/low",        MetricKind::kGauge, "",
                                     "its lowest quantile", "latest.*.low",     false};
inline constexpr Metric kForecastHigh{"forecast/high",        MetricKind::kGauge, "",
                                      "its highest quantile", "latest.*.high",    false};
inline constexpr Metric kForecastAhead{"forecast/ahead_s",
                                       MetricKind::kGauge,
                                       "s",
                                       "from the row to what is forecast",
                                       "latest.*.ahead_s",
                                       false};

/// One thread.
class LatestForecasts {
 public:
  static constexpr std::size_t kMostDevices = 4, kMostSeries = 4;

  /// `settings` outlives it.
  explicit LatestForecasts(const ForecastSettings& settings) : settings_(settings) {}

  /// Keeps a copy if the device is one of the first kMostDevices that came.
  void Take(const Forecast& forecast);
  /// Adds the metrics above, of at most kMostSeries targets and horizons of each device.
  void Measure(Reading* reading) const;

 private:
  struct Series {
    double value = 0, published = 0, low = 0, high = 0, ahead_s = 0;
  };
  struct Device {
    std::string name;
    std::vector<Series> series;
  };
  Device* Find(const std::string& name);
  std::string LabelOf(const Device& device, std::size_t series) const;

  const ForecastSettings& settings_;
  std::vector<Device> devices_;
};

}  // namespace murmurate
