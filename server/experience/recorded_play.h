// RecordedPlay: play that was recorded before a run, as trajectories of its model: what an
// ExperienceStore may keep to learn from beside what is played.
#pragma once

#include <cstdint>
#include <functional>

#include "murmurate/status.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

class RecordedPlay {
 public:
  virtual ~RecordedPlay() = default;

  virtual std::uint64_t steps() const = 0;  ///< in all of it
  /// Calls visit with each trajectory in order, of 1 to T steps, verified, and valid during the
  /// call. An agent's come one after the other, and no agent is one that plays now. kInvalidData:
  /// it cannot be read any more.
  virtual Status Visit(const std::function<void(const TrajectoryView&)>& visit) const = 0;
};

}  // namespace murmurate
