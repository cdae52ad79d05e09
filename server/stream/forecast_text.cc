#include "server/stream/forecast_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "server/stream/json_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// The keys of a forecast, an error or an alarm beside the targets' names.
constexpr std::array<std::string_view, 9> kKeys = {"device", "time", "for", "skill", "version",
                                                   "alarm",  "when", "id",  "seq"};

/// put(row) for each row: in a list, unless there is one alone.
template <typename Row, typename Put>
void PutRows(std::string_view key, std::span<const Row> rows, JsonText* json, Put put) {
  json->Key(key);
  if (rows.size() != 1) json->Open('[');
  for (const Row& row : rows) put(row);
  if (rows.size() != 1) json->Close(']');
}

template <typename Row, typename Value>
void PutColumn(std::string_view key, std::span<const Row> rows, Value Row::*value, JsonText* json) {
  PutRows(key, rows, json, [&](const Row& row) { json->Number(row.*value); });
}

/// A level as it is written in a config.
void PutLevels(std::span<const double> levels, std::span<const double> quantiles, JsonText* json) {
  MURMURATE_CHECK(levels.size() == quantiles.size(), "one quantile per level");
  json->Open('{');
  for (std::size_t i = 0; i < levels.size(); ++i) {
    char written[32];
    json->Key({written, std::to_chars(written, written + sizeof written, levels[i]).ptr});
    json->Number(quantiles[i]);
  }
  json->Close('}');
}

void PutQuantiles(std::span<const double> levels, std::span<const HorizonForecast> rows,
                  JsonText* json) {
  using Row = HorizonForecast;
  if (levels.empty()) return;
  if (levels.size() > 1) {
    PutRows("low", rows, json, [&](const Row& row) { json->Number(row.quantiles.front()); });
    PutRows("high", rows, json, [&](const Row& row) { json->Number(row.quantiles.back()); });
  }
  PutRows("quantiles", rows, json, [&](const Row& row) { PutLevels(levels, row.quantiles, json); });
}

void BeginMessage(std::string_view device, std::int64_t time_ns, TimeForm form, JsonText* json) {
  json->Open('{');
  json->Key("device");
  json->Text(device);
  json->Key("time");
  json->Time(time_ns, form);
}

void EndMessage(std::uint64_t version, JsonText* json) {
  json->Key("version");
  json->Number(version);
  json->Close('}');
}

void EndTarget(std::string_view unit, JsonText* json) {
  if (!unit.empty()) {
    json->Key("unit");
    json->Text(unit);
  }
  json->Close('}');
}

void PutCount(std::string_view key, std::uint64_t count, JsonText* json) {
  if (count == 0) return;
  json->Key(key);
  json->Number(count);
}

/// Puts how many values of each field were not usable; nothing where all were.
void PutFields(const StatusMessage& message, JsonText* json) {
  bool any = false;
  for (std::size_t i = 0; i < message.field_counts.size(); ++i) {
    const FieldCounts& counts = message.field_counts[i];
    if (!counts.any()) continue;
    if (!std::exchange(any, true)) {
      json->Key("fields");
      json->Open('{');
    }
    json->Key(message.fields[i].name);
    json->Open('{');
    PutCount("missing", counts.missing, json);
    PutCount("out_of_range", counts.out_of_range, json);
    PutCount("wrong_type", counts.wrong_type, json);
    json->Close('}');
  }
  if (any) json->Close('}');
}

}  // namespace

void WriteForecast(const ForecastMessage& message, TimeForm time_form, std::string* text) {
  text->clear();
  JsonText json(text);
  BeginMessage(message.device, message.time_ns, time_form, &json);
  if (!message.id.empty()) {
    json.Key("id");
    json.Text(message.id);
  }
  if (message.sequence) {
    json.Key("seq");
    json.Number(*message.sequence);
  }
  PutRows("for", message.for_ns, &json,
          [&](std::int64_t time_ns) { json.Time(time_ns, time_form); });
  for (const TargetForecast& target : message.targets) {
    MURMURATE_CHECK(target.horizons.size() == message.for_ns.size(), "one forecast per horizon");
    using Row = HorizonForecast;
    json.Key(target.name);
    json.Open('{');
    PutColumn("forecast", target.horizons, &Row::forecast, &json);
    PutColumn("model", target.horizons, &Row::model, &json);
    PutColumn("baseline", target.horizons, &Row::baseline, &json);
    PutRows("by", target.horizons, &json,
            [&](const Row& row) { json.Text(row.by_model ? "model" : "baseline"); });
    PutQuantiles(message.levels, target.horizons, &json);
    EndTarget(target.unit, &json);
  }
  json.Key("skill");
  json.Number(message.skill);
  EndMessage(message.version, &json);
}

void WriteErrors(const ErrorMessage& message, TimeForm time_form, std::string* text) {
  text->clear();
  JsonText json(text);
  BeginMessage(message.device, message.time_ns, time_form, &json);
  for (const TargetErrors& target : message.targets) {
    using Row = HorizonError;
    json.Key(target.name);
    json.Open('{');
    PutColumn("error", target.horizons, &Row::error, &json);
    PutColumn("baseline_error", target.horizons, &Row::baseline_error, &json);
    PutColumn("skill", target.horizons, &Row::skill, &json);
    PutColumn("count", target.horizons, &Row::count, &json);
    PutColumn("coverage", target.horizons, &Row::coverage, &json);
    EndTarget(target.unit, &json);
  }
  EndMessage(message.version, &json);
}

void WriteAlarm(const AlarmMessage& message, TimeForm time_form, std::string* text) {
  text->clear();
  JsonText json(text);
  BeginMessage(message.device, message.time_ns, time_form, &json);
  json.Key("alarm");
  json.Flag(message.raised);
  json.Key("when");
  json.Text(message.when);
  for (const TargetAlarm& target : message.targets) {
    json.Key(target.name);
    json.Open('{');
    json.Key("value");
    json.Number(target.value);
    json.Key("forecast");
    json.Number(target.forecast);
    EndTarget(target.unit, &json);
  }
  json.Close('}');
}

void WriteStatus(const StatusMessage& message, TimeForm time_form, std::string* text) {
  text->clear();
  JsonText json(text);
  json.Open('{');
  json.Key("state");
  json.Text(message.state);
  if (!message.reason.empty()) {
    json.Key("reason");
    json.Text(message.reason);
  }
  json.Key("since");
  json.Time(message.since_ns, time_form);
  json.Key("taken");
  json.Number(message.counts[Refusal::kNone]);
  json.Key("devices");
  json.Number(message.devices);
  json.Key("refused");
  json.Open('{');
  for (std::size_t i = 1; i < kRefusals; ++i) {
    const auto refusal = static_cast<Refusal>(i);
    if (message.counts[refusal] == 0) continue;
    json.Key(WordOf(refusal));
    json.Number(message.counts[refusal]);
  }
  json.Close('}');
  PutFields(message, &json);
  json.Close('}');
}

Status CheckTargetName(std::string_view name) {
  if (std::find(kKeys.begin(), kKeys.end(), name) == kKeys.end()) return {};
  return InvalidArgument("a target cannot be called '" + std::string(name) +
                         "', as the published messages have such a key already: name the field "
                         "otherwise and give it the pointer '/" +
                         std::string(name) + "'");
}

}  // namespace murmurate
