#pragma once

#include <cstdint>

namespace murmurate {

/// What a game waits for (design: it is the client's choice).
enum class Pace : std::uint8_t {
  kNever,     ///< nothing: without credit the oldest unsent trajectory is dropped
  kCredit,    ///< at a trajectory's first step, for the learner's credit, while the session is live
  kLockstep,  ///< also for the version trained on the batch it last played for: bit-for-bit runs
};

}  // namespace murmurate
