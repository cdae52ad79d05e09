// Alarm: a condition on what a device says or what is forecast of it, raised when it has held for
// so many rows, and cleared when another one holds (or the first no longer does).
//
//   "forecast > 30"   "value < 5"   "temp.high >= 80"   "vib.value outside"
//
// Quantities: `value` of the row, `forecast` (as published, at the first horizon), `baseline`,
// `low` and `high` (outermost quantiles), `error` (its mean at the first horizon). `value outside`
// holds when the value lies outside the interval that was forecast for it a first horizon ago; it
// needs two quantiles.
//
// Forecaster asks it of every row of a device, but not of one in which another value stands in for
// what a condition's target should have said: that raises and clears nothing.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

/// AlarmQuantities are what an alarm is decided by: one target's numbers at one row.
struct AlarmQuantities {
  double value = 0, forecast = 0, baseline = 0, error = 0;
  double low = std::numeric_limits<double>::quiet_NaN(), high = low;  ///< NaN: no quantiles
  bool outside = false;
};

struct AlarmCondition {
  enum class Quantity : std::uint8_t { kValue, kForecast, kBaseline, kLow, kHigh, kError };
  enum class Compare : std::uint8_t { kGreater, kAtLeast, kLess, kAtMost, kOutside };
  int target = 0;  ///< of the stream's targets
  Quantity quantity = Quantity::kValue;
  Compare compare = Compare::kGreater;
  double limit = 0;

  /// `targets`: their names; a quantity without a name is of the only one. The status says what was
  /// expected.
  static Result<AlarmCondition> Parse(std::string_view text,
                                      const std::vector<std::string>& targets, bool quantiles);
  /// One entry a target. What is not a number meets no condition.
  bool Holds(std::span<const AlarmQuantities> row) const;
  friend bool operator==(const AlarmCondition&, const AlarmCondition&) = default;
};

struct AlarmSettings {
  AlarmCondition when;
  std::uint32_t rows = 1;               ///< `when` must have held for so many
  std::optional<AlarmCondition> clear;  ///< none: when `when` does not hold
};

/// AlarmState is the state of one device's alarm.
struct AlarmState {
  std::uint32_t held = 0;
  bool raised = false;
};

enum class AlarmChange : std::uint8_t { kNone, kRaised, kCleared };

/// The next row of a device.
AlarmChange UpdateAlarm(const AlarmSettings& settings, std::span<const AlarmQuantities> row,
                        AlarmState* state);

}  // namespace murmurate
