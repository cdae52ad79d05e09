// Trajectory: up to T consecutive steps of one agent, as it lies in one raw block. It begins under
// one version, and may go on under newer ones (version_changes.h).
//
// The block is columns back to back, each on a 64-byte border. The agent writes them while it
// plays, the block is sent as it lies, and the learner copies each column into its batch. A row is
// one observation as ObservationLayout says, never stacked: training stacks (frame_stack.h).
//
//   observation        row     [T]          what the agent saw at each step
//   action             4 bytes [T][words]   what it did: ActionLayout's words
//   log_prob           float32 [T]          log pi(action | observation) under the version of the
//                                           step, as it was sampled
//   reward             float32 [T]          raw, summed over Reward() calls until the next Act
//   flags              uint8   [T]          StepFlags
//   next_observation   row                  after the last step (zeros if that step ended)
//   state0             float32 [state]      recurrent models: the state the first step began with
//   frames0            row     [frames]     stacking models: the rows before the first step, oldest
//                                           first; zeros where the episode had not begun
//   final_observation  row     [F]          at the end of each truncated episode, in order
//   mask               uint8   [T][choices] ActionLayout's mask; none when the agent gave no mask:
//                                           everything was allowed
//   episodes           EpisodeRecord[E]     every episode finished since the last block of this
//                                           agent
//
// frames0 are whole rows, not only their stacked inputs: a row is then the one unit of everything
// that is recorded, copied and checked, and a few rows in T are cheap.
//
// A block is sent up to the end of its last used column; the client first moves the episodes up
// behind the others. Steps from `steps` to T are padding: zeros that the learner gives weight 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "murmurate/status.h"
#include "shared/model/action_layout.h"
#include "shared/model/model_spec.h"
#include "shared/model/observation_layout.h"
#include "shared/trajectory/version_changes.h"

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
  std::uint8_t mode = 0;     ///< 0: training; not trained on: 1: evaluation, 2: evaluation.share's
  std::uint8_t success = 0;  ///< 0: the game did not say, 1: no, 2: yes
  std::uint16_t settings =
      0;  ///< revision of the learner's settings it was played under; 0: unknown
  friend bool operator==(const EpisodeRecord&, const EpisodeRecord&) = default;
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
  kMask,
  kState0,
  kFrames0,
};
inline constexpr int kColumnCount = 11;
/// The first ones, which every trajectory has.
inline constexpr int kPlainColumnCount = 8;

struct ColumnRange {
  std::uint32_t offset = 0;  ///< bytes from the start of the block, a multiple of 64
  std::uint32_t bytes = 0;
};

/// Sizes and places of the columns for a given model and T.
struct TrajectoryLayout {
  TrajectoryLayout(const ModelSpec& spec, int length);
  /// The layout of a model that neither stacks nor remembers.
  TrajectoryLayout(const Spaces& spaces, int length);
  /// The same columns for trajectories of another length, with `finals` final observations at most.
  TrajectoryLayout Resized(int length, int finals) const;

  int length;                     ///< T
  ObservationLayout observation;  ///< of a row, not stacked
  ActionLayout action;
  int state_floats = 0;  ///< what a recurrent model carries from step to step
  int frames = 0;        ///< rows before the first step that the deepest stack needs
  int max_finals;        ///< F: an agent hands its block over early when it is used up (>= 1)
  int max_episodes;      ///< E; >= T + 1
  std::array<ColumnRange, kColumnCount> columns;  ///< at capacity
  std::size_t block_bytes = 0;                    ///< whole block, a multiple of 64

  std::size_t row_bytes() const { return observation.row_bytes(); }
  /// Storage of rows is made of 4-byte words.
  std::size_t row_words() const { return row_bytes() / sizeof(float); }
  const ColumnRange& column(Column c) const { return columns[static_cast<int>(c)]; }
  /// Bytes of a column that holds so much; an absent column is asked for with 0 steps.
  std::size_t FilledBytes(Column column, std::size_t steps) const;

 private:
  void LayColumns();
  void AddColumn(Column column, std::size_t bytes);
};

/// A received (or finished) trajectory: spans into a block that another object owns; valid while
/// that block lives.
struct TrajectoryView {
  std::uint32_t agent = 0;
  std::uint64_t sender = 0;      ///< the sender that played it; 0: none
  std::uint64_t first_step = 0;  ///< number of this agent's first step here, counted over its life
  std::uint64_t version = 0;     ///< of the parameters it began under; 0: no weights (random)
  VersionChanges changes;        ///< the newer ones that it went on under
  int steps = 0;                 ///< 1..T; 0 only for a block that carries nothing but episodes
  std::span<const std::byte> observation;  ///< [steps] rows
  std::span<const std::int32_t> action;    ///< [steps][words]
  std::span<const float> log_prob;
  std::span<const float> reward;
  std::span<const std::uint8_t> flags;
  std::span<const std::byte> final_observation;  ///< [finals] rows
  std::span<const std::byte> next_observation;   ///< a row
  std::span<const EpisodeRecord> episodes;
  std::span<const std::uint8_t> mask;  ///< [steps][mask bytes], or empty: everything was allowed
  std::span<const float> state0;
  std::span<const std::byte> frames0;  ///< [frames] rows
};

/// Rows that are nothing but float32, as numbers and back; rows lie on borders of 4 bytes.
std::span<const float> NumbersOf(std::span<const std::byte> rows);
inline std::span<const std::byte> RowsOf(std::span<const float> numbers) {
  return std::as_bytes(numbers);
}

/// Checks the meaning of a view: sizes against `layout`, as many finals as truncated flags, actions
/// inside the space and allowed by their mask, finite numbers, categories that exist, log_prob <=
/// 1e-3 where nothing is continuous, no step both terminated and truncated, `first` set on every
/// step that follows an end. The message names the column, the input or part, the step, what was
/// expected and what was got.
Status CheckTrajectory(const TrajectoryView& view, const TrajectoryLayout& layout);
/// The two halves of CheckTrajectory. The observations are by far the largest column:
/// TrainingBatch::Add checks them as it copies them.
Status CheckAllButObservations(const TrajectoryView& view, const TrajectoryLayout& layout);
Status CheckObservations(const TrajectoryView& view, const TrajectoryLayout& layout);
/// Whether no number in the view is infinite or NaN (whatever else may be wrong with it). Its sizes
/// are those of `layout`.
bool HoldsFiniteNumbers(const TrajectoryView& view, const TrajectoryLayout& layout);

}  // namespace murmurate
