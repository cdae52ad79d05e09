#include "server/schema/config_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace murmurate {
namespace {

std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(std::int64_t value) { return std::to_string(value); }

std::string Text(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  std::string text(digits, end);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

std::string Text(const std::string& value) {
  std::string text = "\"";
  for (const char c : value) {
    if (c == '"' || c == '\\') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text + '"';
}

template <typename T>
std::string Text(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += (text.empty() ? "" : ", ") + Text(value);
  return '[' + text + ']';
}

std::string Text(const ConfigSchedule& schedule) {
  std::string text = "{from = " + Text(schedule.from) + ", to = " + Text(schedule.to);
  if (schedule.steps) text += ", steps = " + Text(*schedule.steps);
  return text + ", shape = " + Text(schedule.shape) + '}';
}

std::string Text(const ConfigCurriculum& curriculum) {
  return "{from = " + Text(curriculum.from) + ", to = " + Text(curriculum.to) +
         ", step = " + Text(curriculum.step) + ", when = " + Text(curriculum.when) +
         ", episodes = " + Text(curriculum.episodes) + '}';
}

std::string Text(std::monostate) { return "(not set)"; }

std::size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string ToToml(const ConfigValue& value) {
  return std::visit([](const auto& held) { return Text(held); }, value);
}

std::string ShortToml(const ConfigValue& value) {
  const auto number = As<double>(value);
  const bool whole = number && std::abs(*number) < 1e15 && *number == std::floor(*number);
  return whole ? std::to_string(static_cast<long long>(*number)) : ToToml(value);
}

std::optional<double> SecondsIn(const std::string& duration) {
  static const std::map<std::string, double> kUnits{
      {"ms", 1e-3}, {"s", 1.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86'400.0}};
  const char* const end = duration.data() + duration.size();
  double count = 0;
  const auto read = std::from_chars(duration.data(), end, count, std::chars_format::fixed);
  const auto unit = kUnits.find(std::string(read.ptr, end));
  if (read.ec != std::errc() || unit == kUnits.end() || !std::isfinite(count)) return std::nullopt;
  if (count * unit->second < 1e-3) return std::nullopt;
  return count * unit->second;
}

std::optional<std::uint64_t> BytesIn(const std::string& size) {
  static const std::map<std::string, double> kUnits{
      {"B", 1},        {"kB", 1e3},     {"MB", 1e6},     {"GB", 1e9},    {"TB", 1e12},
      {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  const char* const end = size.data() + size.size();
  double count = 0;
  const auto read = std::from_chars(size.data(), end, count, std::chars_format::fixed);
  const char* unit = read.ptr;
  if (unit != end && *unit == ' ') ++unit;
  const auto found = kUnits.find(std::string(unit, end));
  if (read.ec != std::errc() || found == kUnits.end() || !std::isfinite(count)) return std::nullopt;
  const double bytes = count * found->second;
  if (bytes < 1 || bytes > 9e15) return std::nullopt;  // beyond, doubles skip integers
  return static_cast<std::uint64_t>(bytes);
}

std::string Nearest(const std::string& name, const std::vector<std::string>& names) {
  std::string nearest;
  std::size_t best = std::max<std::size_t>(3, name.size() / 2 + 1);
  for (const std::string& other : names) {
    const std::size_t distance = EditDistance(name, other);
    if (distance < best) {
      best = distance;
      nearest = other;
    }
  }
  return nearest;
}

}  // namespace murmurate
