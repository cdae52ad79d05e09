// StopRules: when a run ends by itself. RunEnding: that it ends once, by them or because it was
// asked to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "server/operate/progress.h"

namespace murmurate {

/// All rules apply to the progress of the run's first model.
struct StopRules {
  std::optional<double> at_return = {};        ///< rollout mean, over 100 episodes
  std::optional<std::uint64_t> at_steps = {};  ///< learned from, earlier than the budget
  std::optional<std::uint64_t> budget = {};    ///< steps learned from
  /// at_return is reached by the learner's own evaluation, too: the play that an algorithm of
  /// replays learns from is partly chosen at random for as long as it learns.
  bool evaluated = false;
};

/// The mean return that at_return is compared with: the larger one where an evaluation counts.
std::optional<double> ReachedReturn(const StopRules& rules, const Progress& progress);

enum class RunEnd {
  kAsked,          ///< a signal or `murmurate stop`
  kAskedToResume,  ///< `murmurate stop --resume-follows`
  kSolved,         ///< at_return was reached
  kStepsReached,   ///< at_steps or, without at_return, the budget
  kHook,           ///< a hook ended it
  kBudgetSpent,    ///< the budget or at_steps is spent and at_return was not reached
};

/// Why the rules end the run; empty: the run may go on.
std::optional<RunEnd> EndOf(const StopRules& rules, const Progress& progress);

/// One thread.
class RunEnding {
 public:
  using OnEnd = std::function<void(RunEnd)>;
  RunEnding(const StopRules& rules, OnEnd on_end) : rules_(rules), on_end_(std::move(on_end)) {}

  /// Other rules from now on.
  void SetRules(const StopRules& rules) { rules_ = rules; }
  void Check(const Progress& first_model);
  /// Whether the return that ends the run is reached, perhaps by an evaluation after its end.
  bool Solved(const Progress& first_model) const {
    return EndOf(rules_, first_model) == RunEnd::kSolved;
  }
  void Ask(RunEnd end) { End(end, false); }
  void EndByHook(const std::string& why) {
    if (!ended_) why_ = why;
    End(RunEnd::kHook, true);
  }
  /// Of a run that a hook ended: what the hook says; else "".
  const std::string& why() const { return why_; }
  bool ended() const { return ended_; }
  bool by_rules() const { return by_rules_; }

 private:
  void End(RunEnd end, bool by_rules);

  StopRules rules_;
  const OnEnd on_end_;
  bool ended_ = false, by_rules_ = false;
  std::string why_;
};

}  // namespace murmurate
