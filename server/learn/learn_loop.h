// LearnLoop: what mmr-learn repeats: take a full batch, learn, hand out a Snapshot and a report.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "server/learn/learner.h"
#include "shared/core/clock.h"
#include "shared/experience/experience_channel.h"

namespace murmurate {

/// Called on the learning thread; must return at once (post to a mailbox, wake somebody).
struct LearnCallbacks {
  std::function<void(std::shared_ptr<const Snapshot>)>
      on_snapshot;  ///< the first: the initial weights
  std::function<void(const LearnReport&)> on_report;
  /// Before the version that was learned is handed out; `environment_steps` as the schedules saw
  /// them. May be empty.
  std::function<void(const LearnReport&, std::uint64_t environment_steps)> on_learned;
  /// After each batch and its report: the moment for a checkpoint. `batches`: trained on so far by
  /// this loop. Nobody has been told yet that the batch is done.
  std::function<void(const Learner&, std::uint64_t batches)> at_border;
  std::function<void()> wake_ingest;  ///< channel's trajectories_done or version changed
};

class LearnLoop {
 public:
  LearnLoop(std::shared_ptr<ExperienceChannel> channel, std::unique_ptr<Learner> learner,
            LearnCallbacks callbacks, std::function<std::int64_t()> now_ns = MonotonicNs);

  /// Waits up to `timeout` for a batch and trains on it; the first call hands out the initial
  /// weights before it waits. The order per batch: learn, hand out the snapshot (of a new version),
  /// report, at_border, give the batch back (cleared), count it done, wake ingest. True when it
  /// trained.
  bool PollOnce(std::chrono::milliseconds timeout);

  /// Any thread: the learner's rates from the next batch on.
  void PostRates(const Rates& rates);

  const Learner& learner() const { return *learner_; }
  void Interrupt() { learner_->Interrupt(); }  ///< any thread
  std::uint64_t batches() const { return batches_; }

 private:
  void Publish();
  void TakeRates();

  std::shared_ptr<ExperienceChannel> channel_;
  std::unique_ptr<Learner> learner_;
  LearnCallbacks callbacks_;
  const std::function<std::int64_t()> now_ns_;  ///< of waits
  std::mutex mutex_;
  std::optional<Rates> rates_;  ///< not taken up yet
  std::uint64_t batches_ = 0;
};

}  // namespace murmurate
