// The JSON that a stream publishes: forecasts, what became of them, and how the stream is. Values
// are written with the fewest digits that read back as the same number (a double; errors, skill and
// coverage are float32); what is not finite is null; a device's name is escaped. Each function
// overwrites `text`, which keeps its memory.
//
// With one horizon, a target has numbers; with several, lists of them in the horizons' order:
//
//   {"device":"a","time":1700000000.5,"id":"part-7","seq":41,"for":1700000001.5,
//    "temp":{"forecast":21.4,"model":21.4,"baseline":21.5,"by":"model","low":21.1,"high":21.8,
//            "quantiles":{"0.1":21.1,"0.5":21.3,"0.9":21.8},"unit":"C"},"skill":0.12,"version":7}
//   {"device":"a","time":1700000001.5,
//    "temp":{"error":0.1,"baseline_error":0.2,"skill":0.5,"count":100,"coverage":0.9,"unit":"C"},
//    "version":7}
//   {"device":"a","time":1700000001.5,"alarm":true,"when":"forecast > 30",
//    "temp":{"value":29.8,"forecast":30.2,"unit":"C"}}
//   {"state":"learning","reason":"...","since":1700000000,"taken":1000,"devices":3,
//    "refused":{"malformed":2},"fields":{"temp":{"missing":4,"out_of_range":1}}}
//
// Times are written in `time_form`, the one in which they came: numbers, or text if ISO 8601. A
// unit, reason or id of "" is left out, as is a sequence that the sample had not, and as are
// refusals and faults of fields that did not occur. `quantiles` are there when some were asked for,
// by their levels; `low` and `high`, the outermost, when these are two.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "murmurate/status.h"
#include "server/stream/payload.h"
#include "server/stream/sample.h"
#include "server/stream/time_text.h"

namespace murmurate {

struct HorizonForecast {
  double forecast;  ///< what is said
  double model, baseline;
  bool by_model;                      ///< which of the two is said
  std::span<const double> quantiles;  ///< one a level, ascending
};
struct TargetForecast {
  std::string_view name, unit;
  std::span<const HorizonForecast> horizons;
};
struct ForecastMessage {
  std::string_view device;
  std::int64_t time_ns;                     ///< of the last sample
  std::span<const std::int64_t> for_ns;     ///< one per horizon
  std::span<const TargetForecast> targets;  ///< each of as many horizons
  std::span<const double> levels;           ///< of the quantiles
  float skill;                              ///< 1 - error / baseline error, recently
  std::uint64_t version;                    ///< of the model
  std::string_view id = {};                 ///< of the sample; "": none
  std::optional<std::uint64_t> sequence = {};
};
void WriteForecast(const ForecastMessage& message, TimeForm time_form, std::string* text);

struct HorizonError {
  float error, baseline_error, skill;
  std::uint64_t count;  ///< of values that `error` is a mean of
  float coverage;       ///< the share of them that lay from low to high
};
struct TargetErrors {
  std::string_view name, unit;
  std::span<const HorizonError> horizons;
};
struct ErrorMessage {
  std::string_view device;
  std::int64_t time_ns;
  std::span<const TargetErrors> targets;
  std::uint64_t version;
};
void WriteErrors(const ErrorMessage& message, TimeForm time_form, std::string* text);

struct TargetAlarm {
  std::string_view name, unit;
  double value, forecast;
};
struct AlarmMessage {
  std::string_view device;
  std::int64_t time_ns;   ///< of the row that raised or cleared it
  bool raised;            ///< else cleared
  std::string_view when;  ///< what raises it
  std::span<const TargetAlarm> targets;
};
void WriteAlarm(const AlarmMessage& message, TimeForm time_form, std::string* text);

struct StatusMessage {
  std::string_view state, reason;
  std::int64_t since_ns;
  std::uint64_t devices;
  const RefusalCounts& counts;
  std::span<const FieldSettings> fields;
  std::span<const FieldCounts> field_counts;  ///< one a field
};
void WriteStatus(const StatusMessage& message, TimeForm time_form, std::string* text);

/// kInvalidArgument when a target cannot be called that, because a message has such a key already.
Status CheckTargetName(std::string_view name);

}  // namespace murmurate
