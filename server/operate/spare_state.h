// SpareState: the memory of the last checkpoint's state, for the next one. A learning thread copies
// its optimizer's moments at a batch border; into fresh memory that takes ten times as long,
// because the kernel finds and clears each page meanwhile. So what was written comes back and is
// copied over. One a model; any thread.
//
// mmr-learn --Acquire, Learner::Save--> a checkpoint --written, or not--> Release (mmr-checkpoint)
//
// The memory of a checkpoint that was never tried, because a newer one replaced it while the disk
// was slow, is gone: the next Acquire is empty, as the first would be without a Release before.
#pragma once

#include <mutex>
#include <utility>

#include "shared/model/state.h"

namespace murmurate {

class SpareState {
 public:
  /// A state to save into: its float arrays are as long as they were and hold nothing of meaning.
  SavedState Acquire() {
    const std::lock_guard lock(mutex_);
    return std::exchange(state_, {});
  }
  /// Keeps the floats of `state`.
  void Release(SavedState state) {
    state.doubles.clear();
    state.words.clear();
    const std::lock_guard lock(mutex_);
    std::swap(state_, state);
  }

 private:
  std::mutex mutex_;
  SavedState state_;
};

}  // namespace murmurate
