// CollectiveJob: a process's place in a job of learners that mpirun started. Owns the engine, and
// holds the one vote that lets all ranks stop at the same border between two batches:
//
//   border      vote {stop?} ── one rank wants to: over, on all ranks ──────────────────>  Close
//     ^            │ none
//     │            v
//     └── batch: rounds of a step, until no rank has one; statistics (collective_store.h)
//
// So a rank that wants to stop still votes once, and none waits for one that is gone. One that is
// told to stop while its vote is under way waits a moment for it (kPatienceNs): the others may be
// about to begin the batch that it has voted for, and a rank that leaves it out is one behind them.
// One thread at a time: the learning thread, and before and after it main's.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "server/parameters/collective.h"
#include "server/parameters/rank_watch.h"

namespace murmurate {

/// Half of what mpirun leaves a rank after Ctrl+C: the rest is for its files.
inline constexpr std::int64_t kPatienceNs = 500'000'000;

class CollectiveJob {
 public:
  explicit CollectiveJob(std::unique_ptr<Collective> collective);

  Collective& collective() { return *collective_; }
  int rank() const { return collective_->rank(); }
  int size() const { return collective_->size(); }
  /// Of every wait for all ranks.
  RankWatch& watch() { return watch_; }
  /// A sum that all ranks meet at.
  Status SumAll(std::span<float> values, const RankMeeting& meeting);
  /// How many batches have been voted for.
  std::uint64_t batches() const { return batches_; }

  enum class Decision {
    kNextBatch,
    kOver,         ///< all ranks stop here
    kInterrupted,  ///< the vote is under way; the next Vote goes on with it
    kFailed,       ///< the engine failed: `failure`, here and in every later vote
  };
  /// Votes at a border. One that goes on keeps what it was begun with. Given up when `interrupted`
  /// has been set for `patience_ns`.
  Decision Vote(bool stop, const std::atomic<bool>* interrupted = nullptr,
                std::int64_t patience_ns = 0);
  /// To be called when learning has ended here, before all else that takes time: votes to stop, so
  /// that ranks at this border need not wait for that, too. Returns within kPatienceNs; a vote that
  /// was given up is left to Leave.
  void AskToStop();
  /// Whether a vote has said kOver or kFailed: there are no more.
  bool over() const { return over_ || !failure_.ok(); }
  const Status& failure() const { return failure_; }
  /// Keeps what an operation of the job gave as its failure. True: it went well.
  bool Went(const Status& status);

  /// Sets what Leave does instead of voting to stop: a store that knows what a batch of others asks
  /// of this rank (collective_store.h) leaves it here when it ends.
  void AtTheEnd(std::function<void()> vote_to_stop) { vote_to_stop_ = std::move(vote_to_stop); }
  /// To be called at the end of a process whose run ended well, all files written, nothing held:
  /// votes to stop if no rank has, waits for all ranks and ends the engine. That is as far off as
  /// the slowest rank's next batch, and for ever where a rank is dead; the launcher then ends this
  /// one.
  Status Leave();

 private:
  const std::unique_ptr<Collective> collective_;
  RankWatch watch_;
  std::uint64_t batches_ = 0;
  std::array<float, 1> stops_{};
  bool voting_ = false, over_ = false;
  Status failure_;
  std::function<void()> vote_to_stop_;
};

}  // namespace murmurate
