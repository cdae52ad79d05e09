#include "server/schema/setting_words.h"

#include <charconv>
#include <cmath>
#include <sstream>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::int64_t kMostEpisodes = 10'000;

constexpr struct {
  const char* name;
  Curriculum::Number number;
} kNumbers[] = {
    {"rollout/success_rate", Curriculum::Number::kSuccessRate},
    {"rollout/ep_rew_mean", Curriculum::Number::kMeanReturn},
    {"rollout/ep_len_mean", Curriculum::Number::kMeanLength},
};

Status ReadWhen(const std::string& when, Curriculum* curriculum) {
  std::istringstream words(when);
  std::string name, comparison, bound, more;
  words >> name >> comparison >> bound;
  const Status bad = InvalidArgument(
      "when = \"NUMBER >= BOUND\" (or <=) with one of rollout/success_rate, rollout/ep_rew_mean, "
      "rollout/ep_len_mean");
  bool known = false;
  for (const auto& entry : kNumbers) {
    if (name != entry.name) continue;
    curriculum->number = entry.number;
    known = true;
  }
  const char* end = bound.data() + bound.size();
  const auto read = std::from_chars(bound.data(), end, curriculum->bound);
  const bool number = read.ec == std::errc() && read.ptr == end && std::isfinite(curriculum->bound);
  if (!known || !number || (comparison != ">=" && comparison != "<=") || words >> more) return bad;
  curriculum->at_least = comparison == ">=";
  return {};
}

}  // namespace

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
  const bool rate = made.number == Curriculum::Number::kSuccessRate;
  if (rate && (made.bound < 0 || made.bound > 1))
    return InvalidArgument("a success rate between 0 and 1");
  return made;
}

double GoalOf(const GameSetting& setting) {
  if (const auto* number = std::get_if<double>(&setting.rule)) return *number;
  if (const auto* schedule = std::get_if<Schedule>(&setting.rule)) return schedule->to;
  return std::get<Curriculum>(setting.rule).to;
}

}  // namespace murmurate
