// AlarmWatch: asks a stream's alarm (alarm.h) of each row of a device.
//
// A row in which another value stands in for what a condition's target should have said raises and
// clears nothing.
#pragma once

#include <span>
#include <vector>

#include "server/stream/forecast_scores.h"

namespace murmurate {

class AlarmWatch {
 public:
  /// All outlive it.
  AlarmWatch(const ForecastSettings& settings, const DeviceShape& shape,
             const ForecastScores& scores);

  /// Looks at the newest row of a device, before the forecasts made at it take the place of those
  /// that were made for it. Both do nothing where there is no alarm.
  void BeginRow(StreamDevice* device);
  /// Ends the row with its forecasts and returns what this does to the device's alarm.
  AlarmChange EndRow(StreamDevice* device, std::span<const Prediction> predictions);

 private:
  const ForecastSettings& settings_;
  const DeviceShape& shape_;
  const ForecastScores& scores_;
  std::vector<AlarmQuantities> row_;  ///< [targets]
};

}  // namespace murmurate
