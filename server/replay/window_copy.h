// WindowCopy: copies a sample out of a replay into the next slot of a batch, which then holds it as
// if it were a trajectory of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/replay/replay_rows.h"
#include "server/replay/sample_form.h"

namespace murmurate {

class WindowCopy {
 public:
  /// `rows` must outlive it.
  WindowCopy(const SampleForm& form, const TrajectoryLayout& layout, const ReplayRows* rows);

  /// The layout of batches that samples are copied to. Of places, a row is one word.
  static TrajectoryLayout BatchLayout(const SampleForm& form, const TrajectoryLayout& layout);

  /// Adds the sample that begins at `row`. The batch is not full. Weights: of a window, `weight` in
  /// its first row and 0 in all others; of a sequence, `weight` in each. A sequence with more
  /// truncated episodes than the batch has room for ends before the first that has none. `state0`
  /// has room for the states that all chunks of a sequence began with: that of step i T is the i-th,
  /// zeros where no chunk begins there.
  void Add(std::uint64_t row, float weight, TrainingBatch* batch);
  /// Adds a whole chunk to a batch of the replay's own layout, as the trajectory that it came as,
  /// but for who sent it and its later versions. The batch is not full.
  void AddChunk(std::uint64_t chunk, TrainingBatch* batch);

 private:
  struct Room {
    int steps = 0, finals = 0;
  };
  /// A part of a sample, in one chunk.
  struct Part {
    int steps = 0;
    bool last = false;
  };
  Part PartFrom(RowPlace place, const Room& room) const;
  void CopySteps(RowPlace first, int steps, std::size_t to, TrainingBatch* batch) const;
  void CopyRow(const std::byte* from, std::span<float> rows, std::size_t to,
               const TrajectoryLayout& layout) const;
  int AddFinals(RowPlace first, int steps, std::size_t to, TrainingBatch* batch) const;
  void CopyBegin(RowPlace first, TrainingBatch* batch);
  void CopyState(RowPlace place, int step, TrainingBatch* batch) const;
  void CopyEnd(RowPlace last, TrainingBatch* batch) const;
  std::uint8_t Flags(RowPlace place) const;

  const SampleForm form_;
  const int chunk_length_;  ///< T
  const ReplayRows* const rows_;
  std::vector<const std::byte*> history_;
};

}  // namespace murmurate
