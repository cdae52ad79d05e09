// StepCount: the two numbers that say how far a run is.
#pragma once

#include <algorithm>
#include <cstdint>

namespace murmurate {

struct StepCount {
  /// Rows that weighed in a finished batch; of files and streams, rows learned from. Schedules,
  /// budgets, curricula, evaluations and checkpoints go by it, and it never falls.
  std::uint64_t learned = 0;
  /// Environment steps, as the actors say; also those that were never sent or came too late. The x
  /// of every curve. Of files and streams, which have none: the same as `learned`.
  std::uint64_t taken = 0;

  void RaiseTo(const StepCount& other) {
    learned = std::max(learned, other.learned);
    taken = std::max(taken, other.taken);
  }
};

}  // namespace murmurate
