#include "server/operate/stop_rules.h"

#include <algorithm>

namespace murmurate {

std::optional<RunEnd> EndOf(const StopRules& rules, const Progress& progress) {
  const std::uint64_t limit =
      std::min(rules.at_steps.value_or(UINT64_MAX), rules.budget.value_or(UINT64_MAX));
  if (rules.at_return && progress.window_full() && *progress.mean_return() >= *rules.at_return)
    return RunEnd::kSolved;
  if (progress.learned_steps() < limit) return std::nullopt;
  return rules.at_return ? RunEnd::kBudgetSpent : RunEnd::kStepsReached;
}

}  // namespace murmurate
