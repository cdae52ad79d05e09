// TrainingBatch: the columns one training step reads, filled trajectory by trajectory by the ingest
// thread and handed whole to the learning thread. It always has `rows` rows; missing ones weigh 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shared/core/aligned_floats.h"
#include "shared/experience/trajectory.h"

namespace murmurate {

/// What is known of each trajectory of a batch.
struct BatchTrajectory {
  std::uint32_t agent = 0;
  std::uint64_t first_step = 0;
  std::uint64_t version = 0;
  int steps = 0;
  std::uint32_t first_episode = 0, episode_count = 0;  ///< its part of the batch's episodes
};

class TrainingBatch {
 public:
  /// Room for `trajectories` x T rows.
  TrainingBatch(const TrajectoryLayout& layout, int trajectories);

  /// Copies one trajectory's columns into the next free place; full() must be false. The view must
  /// have passed CheckAllButObservations. False: an observation is not finite, and nothing was
  /// added.
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

  int capacity;           ///< trajectories; this and the next two never change
  int length;             ///< T
  int observation_count;  ///< D

  std::vector<BatchTrajectory> trajectories;  ///< the filled places
  AlignedFloats observation;                  ///< [capacity * T][D]
  std::vector<std::int32_t> action;           ///< [capacity * T]
  AlignedFloats log_prob;                     ///< [capacity * T]
  AlignedFloats reward;                       ///< [capacity * T]
  std::vector<std::uint8_t> flags;            ///< [capacity * T]
  AlignedFloats weight;                       ///< [capacity * T] 1 for a real step, 0 for padding
  AlignedFloats next_observation;             ///< [capacity][D]
  AlignedFloats final_observation;            ///< [finals at capacity][D]
  std::vector<std::int32_t> final_row;        ///< the row of the truncated step of each final
  std::vector<EpisodeRecord> episodes;        ///< finished since the last batch

 private:
  enum EmptyLike { kEmptyLike };
  TrainingBatch(const TrainingBatch& like, EmptyLike);
};

}  // namespace murmurate
