// CollectiveJob: a process's place in a job of learners that mpirun started. Owns the engine, and
// holds the one vote that lets all ranks stop at the same border between two batches:
//
//   border      vote {stop?} ── somebody wants to: over, on all ranks ──────────────────>  Close
//     ^            │ nobody
//     │            v
//     └── batch: rounds of a step, until no rank has one; statistics (collective_store.h)
//
// So a rank that wants to stop still votes once, and nobody waits for one that is gone. One thread
// at a time: the learning thread, and before and after it main's.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "server/parameters/collective.h"

namespace murmurate {

class CollectiveJob {
 public:
  explicit CollectiveJob(std::unique_ptr<Collective> collective);

  Collective& collective() { return *collective_; }
  int rank() const { return collective_->rank(); }
  int size() const { return collective_->size(); }

  enum class Decision {
    kNextBatch,
    kOver,         ///< all ranks stop here
    kInterrupted,  ///< the vote is under way; the next Vote goes on with it
    kFailed,       ///< the engine failed: `failure`, here and in every later vote
  };
  /// At a border. A vote that goes on keeps what it was begun with.
  Decision Vote(bool stop, const std::atomic<bool>* interrupted = nullptr);
  /// Whether a vote has said kOver or kFailed: there are no more.
  bool over() const { return over_ || !failure_.ok(); }
  const Status& failure() const { return failure_; }
  /// What an operation of the job gave, kept as its failure. True: it went well.
  bool Went(const Status& status);

  /// What Leave does instead of voting to stop: a store that knows what a batch of the others asks
  /// of this rank (collective_store.h) leaves it here when it ends.
  void AtTheEnd(std::function<void()> vote_to_stop) { vote_to_stop_ = std::move(vote_to_stop); }
  /// At the end of a process whose run ended well, all its files written, nothing held any more:
  /// votes to stop if nobody has, waits for all ranks and ends the engine. That is as far off as
  /// the slowest rank's next batch, and for ever where a rank is dead; the launcher then ends this
  /// one.
  Status Leave();

 private:
  const std::unique_ptr<Collective> collective_;
  std::array<float, 1> stops_{};
  bool voting_ = false, over_ = false;
  Status failure_;
  std::function<void()> vote_to_stop_;
};

}  // namespace murmurate
