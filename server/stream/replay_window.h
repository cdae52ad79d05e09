// ReplayWindow: the sequences that a stream has learned last, to be learned again beside new ones,
// so that what it knew of a regime that is away (a night, a weekend, another product) is not
// overwritten by the one that is there. Experience replay: L.-J. Lin, "Self-improving reactive
// agents based on reinforcement learning, planning and teaching", Machine Learning 8, 1992, who
// says its price as well: what is replayed is of the past, and after a drift for good it teaches
// what no longer holds until new sequences have pushed it out.
//
//   new pairs --Fill--> batch --Mix--> [ new ... | drawn again ... ] --> mmr-learn
//                                  |                  ^
//                                  `---> ring --------'     as they stood in the batch
//
// A kept sequence is as it was learned: in the usual deviations of its time, with the state
// that the weights of its time had (for recurrent models the "stored state" of Kapturowski et al.,
// "Recurrent experience replay in distributed reinforcement learning", 2019).
//
// One thread; waits for nothing. Memory is reserved at once and used as it fills.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/experience/training_batch.h"
#include "shared/core/random.h"
#include "shared/model/state.h"

namespace murmurate {

class ReplayWindow {
 public:
  /// Keeps `most` (>= 1) slots of batches of this layout. Same `seed`, same batches: same draws.
  ReplayWindow(const TrajectoryLayout& layout, int most, std::uint64_t seed);

  /// Adds to a batch of new sequences as many kept ones, each drawn uniformly (so perhaps one
  /// twice), as far as it has room; then keeps the new ones, in place of the oldest. Returns how
  /// many were added.
  int Mix(TrainingBatch* batch);

  int size() const { return static_cast<int>(kept_.size()); }
  std::uint64_t drawn() const { return drawn_; }  ///< of this life
  /// The memory of `most` slots, when all are taken.
  static std::size_t BytesOf(const TrajectoryLayout& layout, int most);

  /// Saves what decides the next draw; the kept sequences are not saved.
  void Save(const StateWriter& writer) const;
  /// Saved without a window: as after construction.
  Status Load(const StateReader& reader);

 private:
  void Draw(TrainingBatch* batch);
  void Keep(TrainingBatch* batch, std::size_t slot);

  const std::size_t bytes_, most_;  ///< of one slot; slots
  std::vector<std::byte> blocks_;   ///< [kept][bytes_]
  std::vector<BatchTrajectory> kept_;
  std::size_t oldest_ = 0;  ///< where the next one goes once all slots are taken
  Random random_;
  std::uint64_t drawn_ = 0;
};

}  // namespace murmurate
