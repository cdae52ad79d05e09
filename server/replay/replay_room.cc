#include "server/replay/replay_room.h"

#include <algorithm>

#include "server/replay/chunk_ring.h"

namespace murmurate {
namespace {

/// One row beside the ring for so many in it: 1,000,000 rows with stacks of 4 make room for 1,300
/// chains.
constexpr std::size_t kUsual = 256;

std::size_t Size(int count) { return static_cast<std::size_t>(count); }

std::size_t Enough(std::size_t worst, std::size_t usual, std::size_t bytes) {
  return std::min(worst,
                  std::max({usual, ReplayRoom::kShortTrajectoryBytes / bytes, std::size_t{2}}));
}

}  // namespace

ReplayRoom::ReplayRoom(const TrajectoryLayout& layout, std::size_t capacity)
    : rows(capacity), frames(Size(layout.frames)) {
  const std::size_t of_length_t = capacity / Size(layout.length) + 1;
  const std::size_t state = Size(layout.state_floats) * sizeof(float);
  const std::size_t frame_bytes = frames * layout.row_bytes();
  chunks = Enough(capacity, 2 * of_length_t, sizeof(Chunk) + state);
  if (frames > 0) chains = Enough(capacity, capacity / kUsual / frames, frame_bytes);
  extra_rows = std::max(Enough(2 * capacity, capacity / kUsual, layout.row_bytes()),
                        Size(layout.max_finals) + 1);
}

}  // namespace murmurate
