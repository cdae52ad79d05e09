// Forecast: what a stream says at one row of one device.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/stream/alarm.h"
#include "server/stream/device_shape.h"

namespace murmurate {

/// Prediction is the forecast of one target at one horizon.
struct Prediction {
  double published = 0;  ///< `model` or `baseline`
  double model = 0;
  double baseline = 0;  ///< the naive forecast: of the last value and the season's the better one
  std::span<const double> quantiles;  ///< as settings.quantiles, ascending, around `published`; NaN
                                      ///< until an error of this device is known
  bool by_model = false;              ///< which of the two is published
  Score score;  ///< of the forecasts that came due so far; its baseline is the better one's
  /// 1 - model's error / baseline's; 0 before both are known.
  double skill() const { return score.baseline > 0 ? 1 - score.model / score.baseline : 0; }
};

/// Forecast is all that is forecast at one row of one device; valid during the call that gets it.
struct Forecast {
  const std::string& device;
  std::uint64_t row = 0;                       ///< of this device
  std::int64_t time_ns = 0;                    ///< of the row
  std::uint64_t version = 0;                   ///< of the weights; 0: none yet
  std::span<const double> values;              ///< [fields] of the row
  std::span<const Prediction> predictions;     ///< [targets][horizons]
  float gap_s = 0;                             ///< that usually lies between two rows; 0 on a grid
  AlarmChange alarm = AlarmChange::kNone;      ///< what this row did to the device's alarm
  std::optional<std::uint64_t> sequence = {};  ///< of the sample that made the row; none on a grid
  std::string_view id = {};                    ///< of that sample, with late labels
  std::span<const double> labels = {};         ///< [targets] of the message itself, if it has them
};

}  // namespace murmurate
