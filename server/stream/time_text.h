// Times as devices write them, and back: a stream answers in the form in which it was asked.
//
// A decimal is read digit by digit, never through a double: 1700000000.123 s comes back as
// 1700000000.123. What is smaller than a nanosecond is cut off.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/core/enum_names.h"

namespace murmurate {

enum class TimeForm : std::uint8_t {
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds,
  kIso8601,  ///< text: 2026-05-01T12:34:56.789Z
};
inline constexpr EnumName<TimeForm> kTimeFormNames[] = {{TimeForm::kSeconds, "s"},
                                                        {TimeForm::kMilliseconds, "ms"},
                                                        {TimeForm::kMicroseconds, "us"},
                                                        {TimeForm::kNanoseconds, "ns"},
                                                        {TimeForm::kIso8601, "iso8601"}};
constexpr std::span<const EnumName<TimeForm>> NamesOf(TimeForm) { return kTimeFormNames; }

/// Times are valid up to the year 2115: the sum of two still fits.
inline constexpr std::int64_t kMaxTimeNs = (std::int64_t{1} << 62) - 1;

/// Nanoseconds since 1970 began (UTC), from 0 to kMaxTimeNs, or none when it is no such time.
/// `form` is not kIso8601.
std::optional<std::int64_t> TimeOfCount(std::uint64_t count, TimeForm form);
/// "1700000000.123", "1.7e9". `form` is not kIso8601.
std::optional<std::int64_t> TimeOfDecimal(std::string_view text, TimeForm form);
/// ISO 8601 with date and time of day: T or a blank between them, a fraction after '.' or ',', and
/// Z, +hh, +hhmm, +hh:mm or nothing (UTC) behind. A leap second is the next minute's first.
std::optional<std::int64_t> TimeOfIso8601(std::string_view text);

/// Appends `time_ns` (from 0 to kMaxTimeNs) in `form`, without quotes and without zeros at the end.
void AppendTime(std::int64_t time_ns, TimeForm form, std::string* text);

}  // namespace murmurate
