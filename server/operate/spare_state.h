// SpareState: the memory of the last checkpoint's state, for the next one. A learning thread copies
// its optimizer's moments at a batch border; into fresh memory that takes ten times as long,
// because the kernel finds and clears each page meanwhile. So what was written comes back and is
// copied over. One a model; any thread.
//
//   mmr-learn --Take, Learner::Save--> a checkpoint --written, or not--> Give (mmr-checkpoint)
//
// Of one that was not even tried, because a newer one took its place while the disk was slow, it is
// gone: the next Take is empty, as the first would be without a Give before.
#pragma once

#include <mutex>
#include <utility>

#include "shared/model/state.h"

namespace murmurate {

class SpareState {
 public:
  /// To be saved into: arrays of floats as long as they were, which hold nothing of meaning.
  SavedState Take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(state_, {});
  }
  /// Keeps the floats of `state`.
  void Give(SavedState state) {
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
