// LearnTurns: the order among learning threads that share a channel (learn_loop.h): batches are
// taken one by one, and what must see a model at rest is done while no thread learns.
//
//   thread 1  Next ==batch 1== Done   Next ==batch 3== Alone(checkpoint) Done   Next ...
//   thread 2     Next ====batch 2==== Done . . . . waits . . . . . . . . .  Next ==batch 4== Done
//
// A thread that wants to be alone waits for the batches under way, and none takes another one
// meanwhile. So what is trained on then are the first `batches` of the channel, none left out:
// what a checkpoint says of its experience is true. A batch that is held out is taken alone: all of
// its rows are scored by the same parameters, those after every batch before it.
//
// While learning is paused, no batch is taken and no turn begins. One thread alone never waits here.
// Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "server/experience/experience_channel.h"

namespace murmurate {

class LearnTurns {
 public:
  using Paused = std::shared_ptr<const std::atomic<bool>>;

  /// `paused`: set while learning is paused, by any thread; null: it never is.
  explicit LearnTurns(Paused paused = nullptr) : paused_(std::move(paused)) {}

  /// The next batch of `channel`, waiting up to `timeout` for one (and longer for a thread that is
  /// alone); null when there is none or learning is paused. Done must follow.
  std::unique_ptr<TrainingBatch> Next(ExperienceChannel& channel,
                                      std::chrono::milliseconds timeout);
  /// A turn without a batch, for what a store still has; Done(false) must follow. False: this has
  /// ended or learning is paused, and there is no turn.
  bool Begin();
  /// Calls visit(batch) with the batch that Next will give, where only one thread takes batches; none
  /// if there is none yet. What visit reads of it later it must have read before that batch is given
  /// back, or this object ends.
  void VisitNext(ExperienceChannel& channel,
                 const std::function<void(const TrainingBatch&)>& visit) const;
  /// Ends the turn of the thread that has the batch. `held_out`: whether that batch is.
  void Done(bool held_out);

  /// Runs `visit` between Next and Done, when the batch is trained on, while no other thread is
  /// between its own.
  void Alone(bool held_out, const std::function<void()>& visit);
  /// Runs `visit` on a thread that has no turn, while no thread has one.
  void AtRest(const std::function<void()>& visit);

  bool paused() const { return paused_ && *paused_; }

  /// No batch is taken any more: those that lie in the channel are never learned from, so that what
  /// was taken is its beginning. Those under way go on.
  void End(ExperienceChannel& channel);

  /// So many more batches of the channel are trained on, scored or kept by a store.
  void Count(std::uint64_t batches) { batches_.fetch_add(batches); }
  std::uint64_t batches() const { return batches_.load(); }
  int wanting() const;  ///< threads that wait to be alone

 private:
  void BeginAlone(std::unique_lock<std::mutex>& lock);

  const Paused paused_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int learning_ = 0;  ///< threads between Next and Done, but those that are or want to be alone
  int wanting_ = 0;   ///< to be alone
  bool alone_ = false, ended_ = false;
  std::atomic<std::uint64_t> batches_{0};
  /// Those of the channel when it ended: a copy that VisitNext began may still read one.
  std::vector<std::unique_ptr<TrainingBatch>> left_;
};

}  // namespace murmurate
