// ReplayRows: the steps that a replay keeps, in a ring (row_ring.h), and the chunks that they came
// in: a chunk is one trajectory. Chunks of an agent that follow each other without a gap are a
// chain, along which samples and stacks of frames run.
//
//   ring     | chunk 7 of agent 3 | chunk 8 of agent 5 | chunk 9 of agent 3 | ...   oldest first
//   chain      chunk 7 ----------------------------------> chunk 9
//
// What lies before the first step of a chain, and after its last, is kept beside the ring: frames0,
// the next observation, the final observations of truncated episodes. All of it, and nothing else,
// lies in one block of fixed size. Whole chunks go, oldest first, when there is no room for
// another: in the ring, or for so many chunks, or beside the ring. There is room for trajectories
// of T steps of all agents, and for shorter ones as far as kShortTrajectoryBytes go: if those are
// used up, fewer steps than the capacity are kept.
//
// A chunk's first step begins another chain when its number does not follow the agent's last, or
// when one of the two says that an episode ended there and the other does not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "server/replay/chunk_ring.h"
#include "server/replay/mapped_block.h"
#include "server/replay/observation_places.h"
#include "server/replay/replay_room.h"
#include "server/replay/row_pool.h"
#include "server/replay/row_ring.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// RowPlace is a step of a chunk.
struct RowPlace {
  std::uint64_t chunk = 0;
  int step = 0;
};

class ReplayRows {
 public:
  ReplayRows(const TrajectoryLayout& layout, const ReplayRoom& room, BlockCursor& block);

  /// The number of the first row, before one is kept: it decides where rows lie.
  void BeginAt(std::uint64_t row) { first_row_ = end_row_ = row; }
  /// Where rows of observations lie.
  ObservationPlaces& places() { return places_; }
  const ObservationPlaces& places() const { return places_; }
  /// Evicts chunks until there is room for a trajectory of 1 to T steps.
  void MakeRoomFor(const TrajectoryView& view);
  /// The last chunk of a chain that the trajectory ends, because it is of the same agent and begins
  /// another one; nothing: it ends none.
  std::optional<std::uint64_t> Ends(const TrajectoryView& view) const;
  /// Keeps a trajectory; MakeRoomFor came before. Its chunk.
  std::uint64_t Insert(const TrajectoryView& view);

  std::uint64_t first_row() const { return first_row_; }  ///< the oldest that is kept
  std::uint64_t end_row() const { return end_row_; }      ///< after the newest
  std::uint64_t size() const { return end_row_ - first_row_; }
  bool Keeps(std::uint64_t row) const { return row >= first_row_ && row < end_row_; }
  /// The row that lies at a place of the ring.
  std::uint64_t RowAt(std::size_t place) const;

  RowRing& ring() { return ring_; }
  const RowRing& ring() const { return ring_; }
  const ChunkRing& chunks() const { return chunks_; }
  const Chunk& At(std::uint64_t chunk) const { return chunks_.At(chunk); }
  RowPlace PlaceOf(std::uint64_t row) const;

  /// Fills rows[i] with the one i + 1 steps before a step in its episode; null where the episode
  /// had not begun. At most layout.frames of them.
  void History(RowPlace place, std::span<const std::byte*> rows) const;
  /// The observation after a step that ended no episode.
  const std::byte* Next(RowPlace place) const;
  /// The final observation of a step that truncated its episode.
  const std::byte* Final(RowPlace place) const;
  /// The state that a recurrent model began the chunk with.
  std::span<const float> State(std::uint64_t chunk) const;

 private:
  bool HasRoomFor(const TrajectoryView& view) const;
  void EvictOldest();
  void BecomeFirst(Chunk& chunk, const Chunk& evicted);
  bool Continues(const TrajectoryView& view, const Chunk& chunk) const;
  void KeepFrames(const TrajectoryView& view, Chunk& chunk);
  void KeepEnds(const TrajectoryView& view, Chunk& chunk);
  std::size_t FinalsOf(const TrajectoryView& view) const;
  bool Ended(const Chunk& chunk) const;

  const TrajectoryLayout layout_;
  RowRing ring_;
  ChunkRing chunks_;
  std::span<float> states_;
  RowPool frames_;  ///< blocks of layout.frames rows
  RowPool rows_;    ///< beside the ring
  ObservationPlaces places_;
  std::uint64_t first_row_ = 0, end_row_ = 0;
  std::unordered_map<std::uint32_t, std::uint64_t> last_;  ///< chunk by agent
  std::vector<const std::byte*> history_;
};

}  // namespace murmurate
