// Trajectory: up to T consecutive steps of one agent under one version, as it lies in one raw
// block.
//
// The block is columns back to back, each on a 64-byte border. The agent writes them while it
// plays, the block is sent as it lies, and the learner copies each column into its batch.
//
//   observation        float32 [T][D]   what the agent saw at each step
//   action             int32   [T]      what it did
//   log_prob           float32 [T]      log pi(action | observation) under `version`, as it was
//   sampled reward             float32 [T]      raw, summed over Reward() calls until the next Act
//   flags              uint8   [T]      StepFlags
//   next_observation   float32 [D]      the observation after the last step (zeros if that step
//   ended) episodes           EpisodeRecord[E] every episode finished since the last block of this
//   agent final_observation  float32 [F][D]   what the agent saw at the end of each truncated
//   episode, in order
//
// A block is sent up to the end of its last used column, so unused room for finals costs nothing.
// Steps from `steps` to T are padding: zeros that the learner gives weight 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "murmurate/spaces.h"
#include "murmurate/status.h"

namespace murmurate {

enum StepFlags : std::uint8_t {
  kFirst = 1,           ///< the first step of an episode
  kTerminatedFlag = 2,  ///< the episode ended here: the next value is 0
  kTruncatedFlag =
      4,  ///< the episode was cut here: the next value is that of its final observation
};

/// A finished episode as the game lived it: raw return, whatever became of its trajectories.
struct EpisodeRecord {
  double raw_return = 0.0;
  std::uint32_t length = 0;  ///< steps
  std::uint32_t mode = 0;    ///< 0: training, 1: evaluation (counted, never trained on)
};
static_assert(sizeof(EpisodeRecord) == 16);

enum class Column : std::uint8_t {
  kObservation,
  kAction,
  kLogProb,
  kReward,
  kFlags,
  kFinalObservation,
  kNextObservation,
  kEpisodes,
};
inline constexpr int kColumnCount = 8;

struct ColumnRange {
  std::uint32_t offset = 0;  ///< bytes from the start of the block, a multiple of 64
  std::uint32_t bytes = 0;
};

/// Sizes and places of the columns for given spaces and T.
struct TrajectoryLayout {
  TrajectoryLayout(const Spaces& spaces, int length);

  int length;             ///< T
  int observation_count;  ///< D, floats
  int max_finals;         ///< F: an agent hands its block over early when it is used up (>= 1)
  int max_episodes;       ///< E; >= T + 1
  std::array<ColumnRange, kColumnCount> columns;  ///< at capacity
  std::size_t block_bytes = 0;                    ///< whole block, a multiple of 64

  const ColumnRange& column(Column c) const { return columns[static_cast<int>(c)]; }
};

/// A received (or finished) trajectory: spans into somebody's block. Valid while that block is.
struct TrajectoryView {
  std::uint32_t agent = 0;
  std::uint64_t first_step = 0;  ///< number of this agent's first step here, counted over its life
  std::uint64_t version = 0;     ///< of the parameters it was played under; 0: no weights (random)
  int steps = 0;                 ///< 1..T; 0 only for a block that carries nothing but episodes
  std::span<const float> observation;  ///< [steps][D]
  std::span<const std::int32_t> action;
  std::span<const float> log_prob;
  std::span<const float> reward;
  std::span<const std::uint8_t> flags;
  std::span<const float> final_observation;  ///< [finals][D]
  std::span<const float> next_observation;   ///< [D]
  std::span<const EpisodeRecord> episodes;
};

/// Checks the meaning of a view: sizes against `layout`, as many finals as truncated flags, actions
/// inside the space, finite observations, rewards and log-probabilities, log_prob <= 1e-3, no step
/// both terminated and truncated, `first` set on every step that follows an end. The message names
/// the column, the step, what was expected and what was got.
Status CheckTrajectory(const TrajectoryView& view, const TrajectoryLayout& layout,
                       const Spaces& spaces);
/// Its two halves. The observations are by far the largest column: TrainingBatch::Add finds out
/// whether their numbers are finite as it copies them.
Status CheckAllButObservations(const TrajectoryView& view, const TrajectoryLayout& layout,
                               const Spaces& spaces);
Status CheckObservations(const TrajectoryView& view);

}  // namespace murmurate
