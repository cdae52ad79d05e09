// TrainingBatch: the columns one training step reads, filled trajectory by trajectory by the ingest
// thread and handed whole to the learning thread. It always has `rows` rows; missing ones weigh 0.
// The columns lie in one block (batch_memory.h), so that a device can copy them all at once.
//
// Rows of observations are those of ObservationLayout, not stacked (frame_stack.h stacks what
// History gives), in storage of 4-byte words: of one float32 input, its numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/experience/batch_memory.h"
#include "server/experience/batch_shape.h"
#include "server/experience/kept_rows.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// BatchTrajectory is what is known of each trajectory of a batch.
struct BatchTrajectory {
  std::uint32_t agent = 0;
  std::uint64_t sender = 0;  ///< 0: no actor's
  std::uint64_t first_step = 0;
  std::uint64_t version = 0;  ///< of its first step
  VersionChanges changes = {};
  int steps = 0;
  std::uint32_t first_episode = 0, episode_count = 0;  ///< its part of the batch's episodes

  std::uint64_t newest_version() const { return version + changes.later(); }
  /// The mean over its steps of how many versions before `now` they were played; `now` is not
  /// before newest_version(), and there is a step.
  double MeanAge(std::uint64_t now) const;
};

/// Bytes of the block of a batch of `trajectories`.
std::size_t BatchBlockBytes(const TrajectoryLayout& layout, int trajectories);

class TrainingBatch {
 public:
  /// Bytes that a batch of `trajectories` takes: its block, and what is known of trajectories.
  static std::size_t BytesFor(const TrajectoryLayout& layout, int trajectories);

  /// Room for `trajectories` x T rows, in a block of `memory`, which must outlive it.
  TrainingBatch(const TrajectoryLayout& layout, int trajectories,
                BatchMemory& memory = PlainBatchMemory());

  /// Copies one trajectory's columns into the next free slot; full() must be false. The view must
  /// have passed CheckAllButObservations. False: an observation does not pass CheckObservations,
  /// and nothing was added.
  bool Add(const TrajectoryView& view);
  /// Episodes that came without a trajectory.
  void AddEpisodes(std::span<const EpisodeRecord> finished);
  /// Puts the trajectories, each with its episodes, in order of (agent, first_step), whatever order
  /// they arrived in: what makes a lock-step run repeatable. Allocates when it must move.
  void Sort();
  void Clear();
  /// The trajectory in a filled slot.
  TrajectoryView View(int slot) const;

  bool full() const { return static_cast<int>(trajectories.size()) == capacity; }
  int rows() const { return capacity * length; }

  const std::byte* ObservationRow(std::size_t row) const { return RowIn(observation, row); }
  const std::byte* NextRow(std::size_t slot) const { return RowIn(next_observation, slot); }
  const std::byte* FinalRow(std::size_t final) const { return RowIn(final_observation, final); }
  /// history[0] is the row itself, history[i] the one i steps before it in its episode, null where
  /// the episode had not begun. At most layout.frames + 1 of them.
  void History(int row, std::span<const std::byte*> history) const;

  TrajectoryLayout layout;
  int capacity;  ///< trajectories; neither it nor the layout ever changes
  int length;    ///< T

  std::vector<BatchTrajectory> trajectories;  ///< of the filled slots
  /// Slots with further parts of a trajectory, less the trajectories that found no room (pieces.h).
  int extra_slots = 0;
  std::vector<EpisodeRecord> episodes;  ///< finished since the last batch
  bool masked = false;                  ///< any trajectory came with a mask

  // Columns of the block: each begins on a border of BatchMemory::kBorder bytes.
  std::span<float> observation;        ///< [capacity * T][row words]
  std::span<std::int32_t> action;      ///< [capacity * T][words]
  std::span<float> log_prob;           ///< [capacity * T]
  std::span<float> reward;             ///< [capacity * T]
  std::span<std::uint8_t> flags;       ///< [capacity * T]
  std::span<float> weight;             ///< [capacity * T] 1 for a real step, 0 for padding
  std::span<std::uint8_t> mask;        ///< [capacity * T][mask bytes], 1 without a mask
  std::span<float> state0;             ///< [capacity][state]
  std::span<float> frames0;            ///< [capacity][frames][row words]
  std::span<float> next_observation;   ///< [capacity][row words]
  std::span<float> final_observation;  ///< [finals at capacity][row words]
  std::span<std::int32_t> final_row;   ///< the row of each truncated step so far; grows in place
  /// All of them, as they lie.
  std::span<const std::byte> block() const { return block_.bytes(); }

  /// Samples says where the rows come from, and so what a loss over them means. Clear: kNew.
  enum class Samples : std::uint8_t {
    kNew,       ///< from actors: not learned from before
    kRead,      ///< from files or from memory, perhaps again
    kHeldOut,   ///< from files, never learned from
    kReplayed,  ///< from a replay: windows of steps that were counted when they were new
  };
  Samples samples = Samples::kNew;
  /// Not null, of samples from a replay for a device that has a copy of its rows: every row of an
  /// observation is one word that names a row of these. Clear: null.
  KeptRows* kept = nullptr;
  /// The learner sets it when it has learned from the batch: its rewards are scaled then, and its
  /// episodes reported. Clear: false.
  bool learned = false;

 private:
  bool CopyObservations(const TrajectoryView& view, std::size_t row);
  void CopyMask(const TrajectoryView& view, std::size_t row);
  const std::byte* RowIn(std::span<const float> rows, std::size_t i) const {
    return reinterpret_cast<const std::byte*>(rows.data() + i * layout.row_words());
  }

  BatchBlock block_;
};

/// Adds the episodes of `from` that belong to none of its trajectories.
void AddLooseEpisodes(const TrainingBatch& from, TrainingBatch* to);

inline BatchShape ShapeOf(const TrainingBatch& batch) { return {batch.length, batch.capacity}; }

}  // namespace murmurate
