// ConfigRule: what one key of a configuration may be, what it means and its default. The rooms bind
// theirs to their settings (settings_keys.h); a ConfigSchema holds all of them, and drives parsing,
// --set, the resolved config.toml, and `murmurate check`.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "server/schema/config_value.h"

namespace murmurate {

enum class ValueKind {
  kBool,
  kInteger,
  kNumber,
  kSchedule,
  kString,
  kPath,
  kPaths,
  kStrings,
  kLayers,
  kSetting,
  kNumbers,
  kNames,
  kDuration,
  kBytes,
  kSpans,
  kNetwork
};

/// kPath: a string; a relative one starts from the folder of the file it stands in (of --set: the
/// working folder), and is held absolute. kPaths: one, or a list of them that may have names ("x:
/// x.npy"); it is held as a list. kLayers: a list of units (64) and layers in words ("conv
/// 32 8 4"); it is held as std::vector<std::int64_t> when all are units, else as strings. kSetting:
/// a number, a schedule or a curriculum. kNumbers: numbers, each in the range. kNames: one string,
/// or a list; held as a list. kDuration: "10s"; held as it stands. kBytes: a count, or a size such
/// as "10GB"; held as a count. kSpans: counts, or durations, one or several; held as a list of
/// integers or of strings. kNetwork: one of the choices, or layers as kLayers has them.
struct ConfigRule {
  std::string section;
  std::string key;
  ValueKind kind = ValueKind::kString;
  ConfigValue standard;  ///< the default; std::monostate: not set
  std::string example;   ///< what a message proposes to write
  std::string meaning;   ///< half a line for `check`
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  ///< kString: nothing else is accepted
  /// kSetting: what a curriculum should have been; "" when it is one.
  std::function<std::string(const ConfigCurriculum&)> expected = {};
};

/// kMany as `high` is no bound but that of exact integers; kTiny as `low` is anything above 0.
inline constexpr double kMany = 9e15;
inline constexpr double kTiny = 1e-12;

/// ConfigSchema is all that a configuration may say.
struct ConfigSchema {
  std::vector<ConfigRule> general;  ///< in the order of the resolved file
  /// Rules of [stream.NAME] (section "stream"), [stream.NAME.field.FIELD] ("stream.field") and
  /// [stream.NAME.alarm] ("stream.alarm"), which are in no general section.
  std::vector<ConfigRule> stream;
  ConfigRule setting;  ///< of every key of [settings], which has whatever names it is given
  /// Of [[hook]]: in section "hook" those that every kind has, in "hook.KIND" those of one.
  std::vector<ConfigRule> hook = {};

  /// Null when there is none.
  const ConfigRule* Find(const std::string& section, const std::string& key) const;
  std::vector<std::string> KeysOf(const std::string& section) const;
  std::vector<std::string> SectionNames() const;
};

/// "an integer from 1 to 4096", "one of \"on\", \"off\"".
std::string Expectation(const ConfigRule& rule);
/// "" when `value` suits the rule, else what was expected; integers become numbers where a number
/// is due.
std::string Fit(const ConfigRule& rule, ConfigValue* value);

}  // namespace murmurate
