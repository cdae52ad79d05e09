#include "server/stream/alarm.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

using Quantity = AlarmCondition::Quantity;
using Compare = AlarmCondition::Compare;

constexpr std::pair<std::string_view, Quantity> kQuantities[] = {
    {"value", Quantity::kValue},       {"forecast", Quantity::kForecast},
    {"baseline", Quantity::kBaseline}, {"low", Quantity::kLow},
    {"high", Quantity::kHigh},         {"error", Quantity::kError}};
constexpr std::pair<std::string_view, Compare> kComparisons[] = {{">", Compare::kGreater},
                                                                 {">=", Compare::kAtLeast},
                                                                 {"<", Compare::kLess},
                                                                 {"<=", Compare::kAtMost}};

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  while (true) {
    const std::size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) return words;
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    text = text.substr(end);
  }
}

template <typename Table>
auto Named(const Table& table, std::string_view word) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [word](const auto& entry) { return entry.first == word; });
  return found == std::end(table) ? std::nullopt : std::optional(found->second);
}

Status Unreadable(std::string_view text, const std::string& why) {
  return InvalidArgument("got \"" + std::string(text) + "\", " + why +
                         "; write a quantity, a comparison and a number, such as \"forecast > 30\" "
                         "or \"value outside\"");
}

/// `word` is QUANTITY or TARGET.QUANTITY.
Status ReadQuantity(std::string_view text, std::string_view word,
                    const std::vector<std::string>& targets, AlarmCondition* condition) {
  const std::size_t dot = word.rfind('.');
  if (dot == std::string_view::npos && targets.size() > 1)
    return Unreadable(text, "which does not say of which target (" + targets.front() + "." +
                                std::string(word) + ", for example)");
  if (dot != std::string_view::npos) {
    const auto named = std::find(targets.begin(), targets.end(), word.substr(0, dot));
    if (named == targets.end())
      return Unreadable(text, "but " + std::string(word.substr(0, dot)) + " is no target");
    condition->target = static_cast<int>(named - targets.begin());
    word = word.substr(dot + 1);
  }
  const auto quantity = Named(kQuantities, word);
  if (!quantity)
    return Unreadable(
        text, "expected value, forecast, baseline, low, high or error, not " + std::string(word));
  condition->quantity = *quantity;
  return {};
}

}  // namespace

Result<AlarmCondition> AlarmCondition::Parse(std::string_view text,
                                             const std::vector<std::string>& targets,
                                             bool quantiles) {
  AlarmCondition condition;
  const std::vector<std::string_view> words = Words(text);
  if (words.empty()) return Unreadable(text, "which is empty");
  MURMURATE_RETURN_IF_ERROR(ReadQuantity(text, words[0], targets, &condition));
  const bool outside = words.size() == 2 && words[1] == "outside";
  if (!outside && words.size() != 3) return Unreadable(text, "expected three words");
  if (outside) {
    condition.compare = Compare::kOutside;
    if (condition.quantity != Quantity::kValue)
      return Unreadable(text, "but only a value can be outside");
  } else {
    const auto compare = Named(kComparisons, words[1]);
    if (!compare) return Unreadable(text, "expected >, >=, < or <=, not " + std::string(words[1]));
    condition.compare = *compare;
    const auto [end, error] = std::from_chars(words[2].begin(), words[2].end(), condition.limit);
    if (error != std::errc() || end != words[2].end() || !std::isfinite(condition.limit))
      return Unreadable(text, "expected a number, not " + std::string(words[2]));
  }
  const bool needs =
      outside || condition.quantity == Quantity::kLow || condition.quantity == Quantity::kHigh;
  if (needs && !quantiles)
    return Unreadable(text, "but there is no interval without two quantiles");
  return condition;
}

bool AlarmCondition::Holds(std::span<const AlarmQuantities> row) const {
  const AlarmQuantities& q = row[static_cast<std::size_t>(target)];
  if (compare == Compare::kOutside) return q.outside;
  const double all[] = {q.value, q.forecast, q.baseline, q.low, q.high, q.error};
  const double x = all[static_cast<std::size_t>(quantity)];
  switch (compare) {
    case Compare::kGreater:
      return x > limit;
    case Compare::kAtLeast:
      return x >= limit;
    case Compare::kLess:
      return x < limit;
    case Compare::kAtMost:
      return x <= limit;
    case Compare::kOutside:
      break;
  }
  return false;
}

AlarmChange UpdateAlarm(const AlarmSettings& settings, std::span<const AlarmQuantities> row,
                        AlarmState* state) {
  const bool holds = settings.when.Holds(row);
  state->held = holds ? std::min(state->held + 1, settings.rows) : 0;
  if (!state->raised) {
    if (state->held < settings.rows) return AlarmChange::kNone;
    state->raised = true;
    return AlarmChange::kRaised;
  }
  if (settings.clear ? !settings.clear->Holds(row) : holds) return AlarmChange::kNone;
  *state = {};
  return AlarmChange::kCleared;
}

}  // namespace murmurate
