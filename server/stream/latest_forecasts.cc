#include "server/stream/latest_forecasts.h"

#include <algorithm>
#include <limits>

#include "server/stream/due_time.h"

namespace murmurate {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

/// Null: there are others enough.
LatestForecasts::Device* LatestForecasts::Find(const std::string& name) {
  for (Device& device : devices_)
    if (device.name == name) return &device;
  if (devices_.size() == kMostDevices) return nullptr;
  return &devices_.emplace_back(Device{name, {}});
}

void LatestForecasts::Take(const Forecast& forecast) {
  Device* const device = Find(forecast.device);
  if (device == nullptr) return;
  const std::size_t horizons = settings_.horizons.size();
  device->series.resize(std::min(kMostSeries, forecast.predictions.size()));
  for (std::size_t i = 0; i < device->series.size(); ++i) {
    const Prediction& made = forecast.predictions[i];
    const auto field = static_cast<std::size_t>(settings_.targets[i / horizons]);
    const bool band = made.quantiles.size() > 1;
    const std::int64_t due_ns =
        DueTime(forecast, settings_.every_s, settings_.horizons[i % horizons]);
    device->series[i] = {.value = field < forecast.values.size() ? forecast.values[field] : kNone,
                         .published = made.published,
                         .low = band ? made.quantiles.front() : kNone,
                         .high = band ? made.quantiles.back() : kNone,
                         .ahead_s = static_cast<double>(due_ns - forecast.time_ns) / 1e9};
  }
}

std::string LatestForecasts::LabelOf(const Device& device, std::size_t series) const {
  const std::size_t horizons = settings_.horizons.size();
  return device.name + ": " + settings_.TargetField(series / horizons).name + " +" +
         std::to_string(settings_.horizons[series % horizons]);
}

void LatestForecasts::Measure(Reading* reading) const {
  for (const Device& device : devices_)
    for (std::size_t i = 0; i < device.series.size(); ++i) {
      const Series& series = device.series[i];
      const std::string label = LabelOf(device, i);
      reading->Add(kForecastValue, label, series.value);
      reading->Add(kForecastPublished, label, series.published);
      reading->Add(kForecastLow, label, series.low);
      reading->Add(kForecastHigh, label, series.high);
      reading->Add(kForecastAhead, label, series.ahead_s);
    }
}

}  // namespace murmurate
