// Insertion into a replay: a batch of trajectories from ReplayStore::Insert to Release, beside memcpy
// of its observations into a ring as large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/experience/training_batch.h"

namespace murmurate {

/// Full trajectories of agents that never stop, all zeros, over and over.
class ReplayPlayers {
 public:
  ReplayPlayers(const TrajectoryLayout& layout, int agents)
      : layout_(layout),
        rows_(static_cast<std::size_t>(layout.length) * layout.row_bytes()),
        frames0_(static_cast<std::size_t>(layout.frames) * layout.row_bytes()),
        action_(static_cast<std::size_t>(layout.length)),
        numbers_(static_cast<std::size_t>(layout.length)),
        flags_(static_cast<std::size_t>(layout.length)),
        agents_(agents) {}

  void Fill(TrainingBatch* batch);

 private:
  const TrajectoryLayout& layout_;
  std::vector<std::byte> rows_, frames0_;
  std::vector<std::int32_t> action_;
  std::vector<float> numbers_;
  std::vector<std::uint8_t> flags_;
  const int agents_;
  std::uint64_t first_step_ = 0;
};

/// Seconds of one batch.
struct InsertionTimes {
  double ours = 1e9, limit = 1e9;
};

/// The shortest of `rounds`, by the processor time of this thread, each in turn with the copy.
InsertionTimes MeasureInsertion(const TrajectoryLayout& layout, int agents, std::uint64_t capacity,
                                int rounds);

}  // namespace murmurate
