// TrainingBatch: the columns one training step reads, filled trajectory by trajectory by the ingest
// thread and handed whole to the learning thread. It always has `rows` rows; missing ones weigh 0.
//
// Rows of observations are those of ObservationLayout, not stacked (frame_stack.h stacks what
// History gives), in storage of 4-byte words: of one float32 input, its numbers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/core/aligned_floats.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// What is known of each trajectory of a batch.
struct BatchTrajectory {
  std::uint32_t agent = 0;
  std::uint64_t sender = 0;  ///< 0: nobody's actor
  std::uint64_t first_step = 0;
  std::uint64_t version = 0;
  int steps = 0;
  std::uint32_t first_episode = 0, episode_count = 0;  ///< its part of the batch's episodes
};

class TrainingBatch {
 public:
  /// Bytes of the columns of a batch of `trajectories`.
  static std::size_t BytesFor(const TrajectoryLayout& layout, int trajectories);

  /// Room for `trajectories` x T rows.
  TrainingBatch(const TrajectoryLayout& layout, int trajectories);

  /// Copies one trajectory's columns into the next free place; full() must be false. The view must
  /// have passed CheckAllButObservations. False: an observation does not pass CheckObservations,
  /// and nothing was added.
  bool Add(const TrajectoryView& view);
  /// Episodes that came without a trajectory.
  void AddEpisodes(std::span<const EpisodeRecord> finished);
  /// Puts the trajectories, each with its episodes, in order of (agent, first_step), whatever order
  /// they arrived in: what makes a lock-step run repeatable. Allocates when it must move.
  void Sort();
  void Clear();
  /// The trajectory at a filled place.
  TrajectoryView View(int place) const;

  bool full() const { return static_cast<int>(trajectories.size()) == capacity; }
  int rows() const { return capacity * length; }

  const std::byte* ObservationRow(std::size_t row) const { return RowIn(observation, row); }
  const std::byte* NextRow(std::size_t place) const { return RowIn(next_observation, place); }
  const std::byte* FinalRow(std::size_t final) const { return RowIn(final_observation, final); }
  /// history[0] is the row itself, history[i] the one i steps before it in its episode, null where
  /// the episode had not begun. At most layout.frames + 1 of them.
  void History(int row, std::span<const std::byte*> history) const;

  TrajectoryLayout layout;
  int capacity;  ///< trajectories; neither it nor the layout ever changes
  int length;    ///< T

  std::vector<BatchTrajectory> trajectories;  ///< the filled places
  AlignedFloats observation;                  ///< [capacity * T][row words]
  std::vector<std::int32_t> action;           ///< [capacity * T][words]
  AlignedFloats log_prob;                     ///< [capacity * T]
  AlignedFloats reward;                       ///< [capacity * T]
  std::vector<std::uint8_t> flags;            ///< [capacity * T]
  AlignedFloats weight;                       ///< [capacity * T] 1 for a real step, 0 for padding
  std::vector<std::uint8_t> mask;             ///< [capacity * T][mask bytes], 1 without a mask
  AlignedFloats state0;                       ///< [capacity][state]
  AlignedFloats frames0;                      ///< [capacity][frames][row words]
  AlignedFloats next_observation;             ///< [capacity][row words]
  AlignedFloats final_observation;            ///< [finals at capacity][row words]
  std::vector<std::int32_t> final_row;        ///< the row of the truncated step of each final
  std::vector<EpisodeRecord> episodes;        ///< finished since the last batch
  bool masked = false;                        ///< any trajectory came with a mask

  /// Where the rows come from, which says what a loss over them means. Clear: kNew.
  enum class Samples : std::uint8_t {
    kNew,      ///< from actors: nobody has learned from them before
    kRead,     ///< from files or from memory, perhaps again
    kHeldOut,  ///< from files, never learned from
  };
  Samples samples = Samples::kNew;

 private:
  bool CopyObservations(const TrajectoryView& view, std::size_t row);
  void CopyMask(const TrajectoryView& view, std::size_t row);
  const std::byte* RowIn(const AlignedFloats& rows, std::size_t i) const {
    return reinterpret_cast<const std::byte*>(rows.data() + i * layout.row_words());
  }
};

}  // namespace murmurate
