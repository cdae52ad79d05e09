#include "server/stream/alarm_watch.h"

#include <cmath>
#include <limits>

namespace murmurate {

AlarmWatch::AlarmWatch(const ForecastSettings& settings, const DeviceShape& shape,
                       const ForecastScores& scores)
    : settings_(settings),
      shape_(shape),
      scores_(scores),
      row_(static_cast<std::size_t>(shape.targets)) {}

void AlarmWatch::BeginRow(StreamDevice* device) {
  if (!settings_.alarm) return;
  const std::uint64_t row = device->rows - 1;
  const auto horizon = static_cast<std::uint64_t>(settings_.horizons[0]);
  const auto each = static_cast<std::size_t>(shape_.outputs / shape_.scores);
  for (int target = 0; target < shape_.targets; ++target) {
    const int i = target * shape_.horizons;
    AlarmQuantities& seen = row_[static_cast<std::size_t>(target)];
    if (settings_.late_labels()) {  // the newest label's
      seen = {.value = device->RowNaive(row, target),
              .outside = device->Floats(Part::kLabelOutside)[target] != 0};
      continue;
    }
    seen = {.value = device->Target(row, target)};
    if (settings_.own_labels()) continue;  // its forecast is not made yet
    if (each < 3 || row < horizon || !scores_.Known(device->ScoreAt(i).count)) continue;
    const auto made = device->Forecasts(row - horizon).subspan(static_cast<std::size_t>(i) * each);
    seen.outside = seen.value < made[1] || seen.value > made[each - 1];
  }
}

AlarmChange AlarmWatch::EndRow(StreamDevice* device, std::span<const Prediction> predictions) {
  if (!settings_.alarm) return AlarmChange::kNone;
  const AlarmSettings& alarm = *settings_.alarm;
  for (int target = 0; target < shape_.targets; ++target) {
    const Prediction& made = predictions[static_cast<std::size_t>(target * shape_.horizons)];
    AlarmQuantities& seen = row_[static_cast<std::size_t>(target)];
    seen.forecast = made.published;
    seen.baseline = made.baseline;
    seen.error =
        made.score.count > 0 ? made.score.published : std::numeric_limits<double>::quiet_NaN();
    if (made.quantiles.size() < 2) continue;
    seen.low = made.quantiles.front();
    seen.high = made.quantiles.back();
    if (settings_.own_labels() && scores_.Known(made.score.count))
      seen.outside = seen.value < seen.low || seen.value > seen.high;
  }
  const auto absent = [this](const AlarmCondition& condition) {
    return !std::isfinite(row_[static_cast<std::size_t>(condition.target)].value);
  };
  if (absent(alarm.when) || (alarm.clear && absent(*alarm.clear))) return AlarmChange::kNone;
  return UpdateAlarm(alarm, row_, &device->alarm);
}

}  // namespace murmurate
