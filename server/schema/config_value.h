// ConfigValue: one setting as it stands in a TOML file, after --set, or in the table of defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace murmurate {

/// {from, to, steps, shape}; without steps the horizon is run.steps.
struct ConfigSchedule {
  double from = 0, to = 0;
  std::optional<std::int64_t> steps;
  std::string shape = "linear";
  friend bool operator==(const ConfigSchedule&, const ConfigSchedule&) = default;
};

/// {from, to, step, when, episodes}: a setting that moves when a measured number crosses a bound.
struct ConfigCurriculum {
  double from = 0, to = 0, step = 1;
  std::string when;  ///< "rollout/success_rate >= 0.8"
  std::int64_t episodes = 100;
  friend bool operator==(const ConfigCurriculum&, const ConfigCurriculum&) = default;
};

/// std::monostate: not set.
using ConfigValue =
    std::variant<std::monostate, bool, std::int64_t, double, std::string, std::vector<std::int64_t>,
                 std::vector<double>, std::vector<std::string>, ConfigSchedule, ConfigCurriculum>;

/// The value that is held, if it is a T.
template <typename T>
std::optional<T> As(const ConfigValue& value) {
  if (const auto* held = std::get_if<T>(&value)) return *held;
  return std::nullopt;
}
/// The integer of a value that its rule has found to be one that fits.
inline int AsInt(const ConfigValue& value) {
  return static_cast<int>(std::get<std::int64_t>(value));
}

/// The value as TOML, as the resolved config.toml and `murmurate check` show it.
std::string ToToml(const ConfigValue& value);
/// The value as ToToml writes it, but a whole number without its fraction: 5, not 5.0.
std::string ShortToml(const ConfigValue& value);

/// The seconds in "500ms", "10s", "1.5m", "2h", "1d"; empty: that is no duration above 0.
std::optional<double> SecondsIn(const std::string& duration);

/// The bytes in "64kB", "10GB", "1.5 GiB", "2048 B"; empty: that is no size of at least a byte.
std::optional<std::uint64_t> BytesIn(const std::string& size);

/// The name nearest to `name` (edit distance), "" when none is near.
std::string Nearest(const std::string& name, const std::vector<std::string>& names);

}  // namespace murmurate
