#include "server/operate/stop_rules.h"

#include <algorithm>
#include <utility>

namespace murmurate {

std::optional<double> ReachedReturn(const StopRules& rules, const Progress& progress) {
  std::optional<double> reached;
  if (progress.means().full()) reached = progress.means().mean_return();
  const auto& evaluation = progress.evaluation();
  if (rules.evaluated && evaluation && evaluation->by == EvaluatedBy::kLearner)
    reached = std::max(reached.value_or(evaluation->mean_return), evaluation->mean_return);
  return reached;
}

std::optional<RunEnd> EndOf(const StopRules& rules, const Progress& progress) {
  const std::uint64_t limit =
      std::min(rules.at_steps.value_or(UINT64_MAX), rules.budget.value_or(UINT64_MAX));
  const auto reached = ReachedReturn(rules, progress);
  if (rules.at_return && reached && *reached >= *rules.at_return) return RunEnd::kSolved;
  if (progress.learned_steps() < limit) return std::nullopt;
  return rules.at_return ? RunEnd::kBudgetSpent : RunEnd::kStepsReached;
}

void RunEnding::Check(const Progress& first_model) {
  if (const auto end = EndOf(rules_, first_model)) End(*end, true);
}

void RunEnding::End(RunEnd end, bool by_rules) {
  if (std::exchange(ended_, true)) return;
  by_rules_ = by_rules;
  on_end_(end);
}

}  // namespace murmurate
