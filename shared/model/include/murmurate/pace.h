#pragma once

#include <cstdint>

namespace murmurate {

/// Pace is what a game waits for; each client chooses its own.
enum class Pace : std::uint8_t {
  kNever,     ///< nothing: without credit the oldest unsent trajectory is dropped
  kCredit,    ///< at a trajectory's first step, for the learner's credit, while the session is live
  kLockstep,  ///< also for the version trained on the batch it last played for: bit-for-bit runs
};

}  // namespace murmurate
