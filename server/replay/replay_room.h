// ReplayRoom: how many of everything a replay of so many steps has room for.
#pragma once

#include <cstddef>

#include "shared/trajectory/trajectory.h"

namespace murmurate {

struct ReplayRoom {
  /// What short and cut trajectories need more may take so much of each kind.
  static constexpr std::size_t kShortTrajectoryBytes = 16u << 20;

  ReplayRoom(const TrajectoryLayout& layout, std::size_t capacity);
  /// Rows of observations in all: in the ring, before chains, and beside them.
  std::size_t places() const { return rows + chains * frames + extra_rows; }

  std::size_t rows;        ///< of the ring
  std::size_t chunks;      ///< trajectories
  std::size_t chains = 0;  ///< whose `frames` rows before the first step are kept
  std::size_t frames;      ///< before each chain
  std::size_t extra_rows;  ///< after chains, and of truncated episodes
};

}  // namespace murmurate
