// StopRules: when a run ends by itself.
#pragma once

#include <cstdint>
#include <optional>

#include "server/operate/progress.h"

namespace murmurate {

/// All rules look at the progress of the run's first model.
struct StopRules {
  std::optional<double> at_return = {};        ///< rollout mean, over 100 episodes
  std::optional<std::uint64_t> at_steps = {};  ///< learned from, earlier than the budget
  std::optional<std::uint64_t> budget = {};    ///< steps learned from
};

enum class RunEnd {
  kAsked,          ///< a signal or `murmurate stop`
  kAskedToResume,  ///< `murmurate stop --resume-follows`
  kSolved,         ///< at_return was reached
  kStepsReached,   ///< at_steps or, without at_return, the budget
  kBudgetSpent,    ///< the budget or at_steps is spent and at_return was not reached
};

/// Why the rules end the run; empty: the run may go on.
std::optional<RunEnd> EndOf(const StopRules& rules, const Progress& progress);

}  // namespace murmurate
