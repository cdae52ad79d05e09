// ForecastSettings: what a stream forecasts, by which model, how it learns and when it raises an
// alarm. StreamSettings (config_stream.h) holds one; reading a config checks it, and the code that
// is given one does not check again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/stream/alarm.h"
#include "server/stream/page_hinkley.h"
#include "shared/core/enum_names.h"

namespace murmurate {

/// A number that every message of a stream carries.
struct StreamField {
  std::string name;
  std::string unit;  ///< said with each forecast; "": none
};

/// ForecastSettings says what is forecast of each device, and how it is scored (forecaster.h).
struct ForecastSettings {
  /// Missing says what becomes of a message without some of the fields.
  enum class Missing : std::uint8_t {
    kHold,   ///< the last value stands in, for at most max_gap rows; then as kSkip
    kSkip,   ///< the message is no row: nothing is forecast or learned from it
    kError,  ///< the message is refused, and counted as missing_field
  };
  /// Resample says what value the messages of one cell of the grid make together.
  enum class Resample : std::uint8_t { kLast, kMean, kSum };

  std::vector<StreamField> fields;
  std::vector<int> targets;       ///< indices of fields; then on, of labels
  std::vector<int> horizons{1};   ///< rows ahead, ascending; or 0 alone
  std::vector<double> quantiles;  ///< in (0, 1), ascending: of the error; two make an interval
  int window = 16;                ///< rows that one training step goes back, or a plain model sees
  int season = 0;                 ///< rows; 0: the naive forecast is the last value
  double every_s = 0;             ///< > 0: rows are the cells of this grid, else messages
  Resample resample = Resample::kLast;
  Missing missing = Missing::kHold;
  int max_gap = 10;           ///< rows
  int normalize_over = 1000;  ///< rows that means and deviations remember
  int score_over = 200;       ///< forecasts that errors and skill remember
  PageHinkleySettings drift;  ///< of the model's errors, over all devices
  std::optional<AlarmSettings> alarm;
  /// The targets that are no fields. Where labels come later (late_labels.h) all targets are of
  /// these; where a message has its own labels (own_labels.h) they stand behind its fields. In both
  /// cases the one horizon is 0: the forecast is of that very row.
  std::vector<StreamField> labels;
  int label_window = 0;          ///< rows of a device that a label may come for; 0: none come later
  int early_labels = 0;          ///< labels of a device that are kept until their samples come
  bool per_device_state = true;  ///< false: each window begins with nothing remembered
  bool learn = true;
  int max_devices = 10'000;
  double forget_after_s = 86'400;  ///< a device silent for so long makes room for a new one

  bool late_labels() const { return label_window > 0; }
  /// Each message has the values of its targets, too.
  bool own_labels() const { return !late_labels() && labelled(); }
  /// Either of the two: what is forecast is of the row itself.
  bool labelled() const { return horizons.front() == 0; }
  /// The field of the i-th target.
  const StreamField& TargetField(std::size_t i) const {
    const auto at = static_cast<std::size_t>(targets[i]);
    return at < fields.size() ? fields[at] : labels[at - fields.size()];
  }
};

inline constexpr EnumName<ForecastSettings::Missing> kMissingNames[] = {
    {ForecastSettings::Missing::kHold, "hold"},
    {ForecastSettings::Missing::kSkip, "skip"},
    {ForecastSettings::Missing::kError, "error"}};
constexpr std::span<const EnumName<ForecastSettings::Missing>> NamesOf(ForecastSettings::Missing) {
  return kMissingNames;
}
inline constexpr EnumName<ForecastSettings::Resample> kResampleNames[] = {
    {ForecastSettings::Resample::kLast, "last"},
    {ForecastSettings::Resample::kMean, "mean"},
    {ForecastSettings::Resample::kSum, "sum"}};
constexpr std::span<const EnumName<ForecastSettings::Resample>> NamesOf(
    ForecastSettings::Resample) {
  return kResampleNames;
}

}  // namespace murmurate
