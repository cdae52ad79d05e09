#include "server/learn/setting_keys.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "server/learn/algorithm_keys.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::int64_t kMostEpisodes = 10'000;

constexpr EnumName<Curriculum::Number> kNumbers[] = {
    {Curriculum::Number::kSuccess, "rollout/success_rate"},
    {Curriculum::Number::kReturn, "rollout/ep_rew_mean"},
    {Curriculum::Number::kLength, "rollout/ep_len_mean"},
};

}  // namespace

constexpr std::span<const EnumName<Curriculum::Number>> NamesOf(Curriculum::Number) {
  return kNumbers;
}

namespace {

Status ReadWhen(const std::string& when, Curriculum* curriculum) {
  std::istringstream words(when);
  std::string name, comparison, bound, more;
  words >> name >> comparison >> bound;
  const Status bad = InvalidArgument(
      "when = \"NUMBER >= BOUND\" (or <=) with one of rollout/success_rate, rollout/ep_rew_mean, "
      "rollout/ep_len_mean");
  const auto known = Named<Curriculum::Number>(name);
  const char* end = bound.data() + bound.size();
  const auto read = std::from_chars(bound.data(), end, curriculum->bound);
  const bool number = read.ec == std::errc() && read.ptr == end && std::isfinite(curriculum->bound);
  if (!known || !number || (comparison != ">=" && comparison != "<=") || words >> more) return bad;
  curriculum->number = *known;
  curriculum->at_least = comparison == ">=";
  return {};
}

/// "rollout/success_rate >= 0.8" and the rest of a curriculum; the status says what is wrong with
/// it, to be put after "expected".
Result<Curriculum> MakeCurriculum(const ConfigCurriculum& words) {
  Curriculum made{.from = words.from, .to = words.to, .step = words.step};
  if (!std::isfinite(words.from) || !std::isfinite(words.to) || words.from == words.to)
    return InvalidArgument("from and to to be two different numbers");
  if (!std::isfinite(words.step) || words.step <= 0)
    return InvalidArgument("a step above 0 (it goes from `from` towards `to` by itself)");
  if (words.episodes < 1 || words.episodes > kMostEpisodes)
    return InvalidArgument("episodes from 1 to 10000");
  made.episodes = static_cast<int>(words.episodes);
  MURMURATE_RETURN_IF_ERROR(ReadWhen(words.when, &made));
  const bool rate = made.number == Curriculum::Number::kSuccess;
  if (rate && (made.bound < 0 || made.bound > 1))
    return InvalidArgument("a success rate between 0 and 1");
  return made;
}

}  // namespace

ConfigRule SettingRule() {
  ConfigRule rule{"settings",    "",  ValueKind::kSetting,
                  ConfigValue(), "1", "games read it as an episode begins"};
  rule.expected = [](const ConfigCurriculum& words) {
    const auto made = MakeCurriculum(words);
    return made.ok() ? std::string() : made.status().message();
  };
  return rule;
}

GameSetting MakeGameSetting(const std::string& name, const ConfigValue& value) {
  if (const auto number = As<double>(value)) return {name, *number};
  if (const auto words = As<ConfigCurriculum>(value)) return {name, *MakeCurriculum(*words)};
  return {name, ConfigType<Schedule>::From(value)};
}

double GoalOf(const GameSetting& setting) {
  if (const auto* number = std::get_if<double>(&setting.rule)) return *number;
  if (const auto* schedule = std::get_if<Schedule>(&setting.rule)) return schedule->to;
  return std::get<Curriculum>(setting.rule).to;
}

}  // namespace murmurate
