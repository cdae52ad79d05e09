// LearnLoop: what mmr-learn repeats: insert an assembled batch into the store, learn from what the
// store gives, hand out a Snapshot and a report for each batch.
//
// A model of several learning threads has a loop for each, with learners that share their
// parameters (Learner::SharedReplica), one channel and one LearnTurns. Their callbacks then come
// from several threads, and a snapshot may come after a newer one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "server/experience/experience_channel.h"
#include "server/experience/experience_store.h"
#include "server/learn/batch_watch.h"
#include "server/learn/learn_turns.h"
#include "server/learn/learner.h"
#include "shared/core/clock.h"

namespace murmurate {

/// Called on the learning thread; must return at once (post to a mailbox, wake a thread).
struct LearnCallbacks {
  std::function<void(std::shared_ptr<const Snapshot>)>
      on_snapshot;  ///< the first: the initial weights
  std::function<void(const LearnReport&)> on_report;
  std::function<void()> on_batch =
      {};  ///< before a batch is learned from, not one held out; may be empty
  /// Called before the version learned is handed out; `steps`: learned with this batch, and taken
  /// when it was begun (ingest counts on while it is learned from). May be empty.
  std::function<void(const LearnReport&, StepCount steps)> on_learned;
  /// Says after each batch and its report whether at_border is due. Empty: always.
  std::function<bool()> border_due;
  /// The moment for a checkpoint: no loop of these turns is inside a batch. `batches`: the first so
  /// many of the channel are trained on. This one has not been counted as done yet.
  std::function<void(const Learner&, std::uint64_t batches)> at_border;
  /// The learner's trainer has failed, and nothing is learned any more; called once.
  std::function<void(const Status&)> on_failure;
  /// Called at most once a minute, when Waiting() has got something to say after a batch. May be
  /// empty.
  std::function<void(const std::string& sentence)> on_waiting = {};
  std::function<void()> wake_ingest;  ///< channel's credit or version changed
};

class LearnLoop {
 public:
  /// `turns`: those of the other loops of this channel; null: there are none. `store`: null: what
  /// the learner's algorithm needs, for which there must be memory.
  LearnLoop(std::shared_ptr<ExperienceChannel> channel, std::unique_ptr<Learner> learner,
            LearnCallbacks callbacks, std::function<std::int64_t()> now_ns = MonotonicNs,
            std::shared_ptr<LearnTurns> turns = nullptr,
            std::unique_ptr<ExperienceStore> store = nullptr);

  /// Waits up to `timeout` for an assembled batch and learns from all that the store then gives;
  /// the first call hands out the initial weights before it waits. The order per batch: learn,
  /// tell the store, count its steps, count the new version, hand out its snapshot, report,
  /// at_border; and then: give back what the store releases, publish its credit, wake ingest.
  /// Schedules are where the steps of earlier batches have brought them. True when it trained. Once
  /// the trainer has failed, batches are left out. While the turns are paused, it learns from no
  /// further batch; what the store has then is learned from first when they go on.
  bool PollOnce(std::chrono::milliseconds timeout);

  /// Saves, between batches (also of the loops beside it), what the store needs, in a section of
  /// this loop, the `loop`-th of its model; the learner is saved by itself.
  void SaveStore(int loop, SavedState* state) const;
  /// Loads what SaveStore saved, before the first batch. The second PollOnce then learns from what
  /// the store still has, instead of a batch that is waited for.
  Status LoadStore(int loop, const SavedState& state);
  /// ExperienceStore::Seal and Written, of what SaveStore saved. Any thread.
  void SealStore(int loop, SavedState* state) const;
  void StoreWritten(int loop, const SavedState& state) const;
  ExperienceStore& store() { return *store_; }
  /// After LoadStore: ExperienceStore::Demonstrate.
  Status Demonstrate(const RecordedPlay& play) { return store_->Demonstrate(play); }

  /// Posts the learner's rates from the next batch on; any thread.
  void PostRates(const Rates& rates);
  /// Posts parameters that the learner goes back to before the next batch (Learner::GoBack); any
  /// thread.
  void PostReturn(std::shared_ptr<const Snapshot> to);

  const Learner& learner() const { return *learner_; }
  void Interrupt() { learner_->Interrupt(); }  ///< any thread

  /// "a batch has taken 32 s so far, and they usually take 0.05 s (update 3 of 80)", each time that
  /// a report is due (batch_watch.h) and where the trainer says where it is; else "". Any thread,
  /// one at a time.
  std::string LateBatch();
  /// Seconds that the batch under way has taken so far; 0: none is. Any thread.
  double BatchSeconds() const { return watch_.UnderWay(now_ns_()); }
  /// Why nothing is learned, as the store says it ("learner waits for experience: ..."), from two
  /// seconds after the last batch on; "": it learns, or its store learns from fresh batches alone.
  /// Any thread.
  std::string Waiting() const;

 private:
  std::unique_ptr<TrainingBatch> AwaitBatch(std::chrono::milliseconds timeout);
  void SetWaiting(std::string sentence);
  void Publish();
  void ApplyPosted();
  bool Learn(TrainingBatch& batch, bool held_out);
  LearnReport Train(TrainingBatch& batch, std::uint64_t learned_steps);
  std::uint64_t CountLearned();
  bool PublishCredit();
  bool LearnAll(bool held_out);
  bool LearnWhatWasDue();

  std::shared_ptr<ExperienceChannel> channel_;
  const std::shared_ptr<LearnTurns> turns_;  ///< outlives the learner, which may read its batches
  std::unique_ptr<Learner> learner_;
  LearnCallbacks callbacks_;
  const std::unique_ptr<ExperienceStore> store_;
  StoreCounts counted_;                         ///< of the store, told to channel and turns
  const std::function<std::int64_t()> now_ns_;  ///< of waits
  mutable std::mutex mutex_;
  std::optional<Rates> rates_;                  ///< not applied yet, as what follows
  std::shared_ptr<const Snapshot> returns_to_;  ///< null: it goes on
  std::string waiting_;
  std::int64_t next_waiting_ns_ = 0;  ///< when on_waiting may be called again
  BatchWatch watch_;
  bool failed_ = false;
  /// The store may still have what is to be learned from: it was loaded, or a pause came between.
  bool due_ = false;
};

}  // namespace murmurate
