#include "server/operate/status_streams.h"

#include <array>
#include <cstdint>
#include <utility>

#include "server/operate/display.h"

namespace murmurate {
namespace {

using Json = nlohmann::json;

std::string Number(const Json& number, const char* format) {
  if (!number.is_number()) return "-";
  char text[48];
  std::snprintf(text, sizeof text, format, number.get<double>());
  return text;
}

std::string Counted(const nlohmann::json& stream, const char* key) {
  return WithCommas(stream.value(key, std::uint64_t{0}));
}

/// "  200 received, 198 rows, 198 forecasts, 2 late", and why a device makes no row, if one does
/// not. "" of a learner that does not say it.
std::string RowsLine(const Json& stream) {
  if (!stream.contains("rows")) return "";
  static constexpr std::array<std::array<const char*, 2>, 6> kCounts = {
      {{"late", "late"},
       {"incomplete", "without a value that never came"},
       {"skipped", "skipped for missing values"},
       {"joined", "joined in cells"},
       {"empty", "empty cells"},
       {"waiting", "cells open"}}};
  std::string line = "  " + Counted(stream, "received") + " received, " + Counted(stream, "rows") +
                     " rows, " + Counted(stream, "forecasts") + " forecasts";
  for (const auto& [key, words] : kCounts)
    if (const std::string count = Counted(stream, key); count != "0")
      line += ", " + count + ' ' + words;
  const std::string stuck = stream.value("stuck", "");
  return line + (stuck.empty()
                     ? "\n"
                     : "\n  no row: " + stuck + "; set 'every' if its fields come apart\n");
}

/// "  field hum: 3 missing, 1 out of range"
std::string FieldLine(const std::string& name, const Json& counts) {
  std::string line;
  for (const auto& [key, words] :
       {std::pair{"missing", " missing"}, std::pair{"out_of_range", " out of range"},
        std::pair{"wrong_type", " of the wrong type"}})
    if (const auto count = counts.value(key, std::uint64_t{0}); count > 0)
      line += (line.empty() ? "" : ", ") + WithCommas(count) + words;
  return "  field " + name + ": " + line + '\n';
}

/// "connected to mqtt://..., listens on tcp://... (2 clients), "
std::string StreamWays(const Json& stream) {
  std::string ways;
  if (const std::string broker = stream.value("broker", "?"); !broker.empty())
    ways = stream.value("up", false)
               ? "connected to " + broker + ", "
               : broker + " is down since " + ShortDuration(stream.value("down_s", 0.0)) + ", ";
  if (const std::string listen = stream.value("listen", ""); !listen.empty())
    ways += "listens on " + listen + " (" + WithCommas(stream.value("clients", std::uint64_t{0})) +
            " clients), ";
  return ways;
}

}  // namespace

nlohmann::json StreamJson(const StreamView& stream) {
  Json refused = Json::object();
  for (const auto& [word, count] : stream.refused) refused[word] = count;
  Json fields = Json::object();
  for (const FieldView& field : stream.fields)
    fields[field.name] = {{"missing", field.missing},
                          {"out_of_range", field.out_of_range},
                          {"wrong_type", field.wrong_type}};
  return {{"name", stream.name},
          {"broker", stream.broker},
          {"listen", stream.listen},
          {"clients", stream.clients},
          {"answered", stream.answered},
          {"up", stream.up},
          {"down_s", stream.down_s},
          {"received", stream.received},
          {"published", stream.published},
          {"losses", stream.losses},
          {"messages", stream.messages},
          {"messages_per_s", stream.messages_per_s},
          {"devices", stream.devices},
          {"learned", stream.learned},
          {"unlearned", stream.unlearned},
          {"gaps", stream.gaps},
          {"late", stream.late},
          {"rows", stream.rows},
          {"forecasts", stream.forecasts},
          {"incomplete", stream.incomplete},
          {"skipped", stream.skipped},
          {"joined", stream.joined},
          {"empty", stream.empty},
          {"waiting", stream.waiting},
          {"stuck", stream.stuck},
          {"error", stream.error ? Json(*stream.error) : Json()},
          {"baseline_error", stream.baseline_error ? Json(*stream.baseline_error) : Json()},
          {"skill", stream.skill() ? Json(*stream.skill()) : Json()},
          {"fields", fields},
          {"refused", refused}};
}

std::string StreamLine(const nlohmann::json& stream) {
  const auto count = [&](const char* key) {
    return WithCommas(stream.value(key, std::uint64_t{0}));
  };
  std::string line =
      "stream " + stream.value("name", "?") + ": " + StreamWays(stream) + count("messages") +
      " messages (" + Number(stream.value("messages_per_s", Json()), "%.0f") + "/s) of " +
      count("devices") + " devices, " + count("published") + " published, " + count("answered") +
      " answered; " + count("learned") + " rows learned, " + count("unlearned") + " not";
  if (const Json error = stream.value("error", Json()); error.is_number())
    line += "; error " + Number(error, "%.3g") + ", naive " +
            Number(stream.value("baseline_error", Json()), "%.3g");
  if (const Json skill = stream.value("skill", Json()); skill.is_number())
    line += ", skill " + Number(skill, "%.3g");
  line += '\n';
  line += RowsLine(stream);
  if (const auto gaps = stream.value("gaps", std::uint64_t{0}); gaps > 0)
    line += "  messages that have not come, by their numbers: " + WithCommas(gaps) + '\n';
  const Json fields = stream.value("fields", Json::object());
  for (const auto& [name, counts] : fields.items()) line += FieldLine(name, counts);
  const Json refused = stream.value("refused", Json::object());
  for (const auto& [word, times] : refused.items())
    line += "  refused messages (" + word + "): " + times.dump() + '\n';
  return line;
}

}  // namespace murmurate
