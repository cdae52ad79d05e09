// HookRunner: one hook on a thread of its own (`mmr-hook.N`), fed by a bounded queue.
//
//   mmr-operate, ... --Post--> queue --PollOnce--> Hook::OnEvent
//
// Post never waits: an event for which the queue has no room is dropped and counted, so a hook that
// is slow, or stands still, holds nothing up but itself. Hooks do not wait for one another.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "murmurate/log.h"
#include "server/hooks/hook_kinds.h"
#include "server/hooks/hook_tally.h"
#include "server/metrics/reading.h"
#include "shared/core/loop.h"

namespace murmurate {

class HookRunner {
 public:
  using Event = std::shared_ptr<const HookEvent>;

  HookRunner(ConfiguredHook hook, LogCallback log);
  ~HookRunner();

  /// Starts the thread; `number` is that of its name.
  void Start(std::size_t number);

  bool wants(HookMoment moment) const { return (wants_ & Bit(moment)) != 0; }
  const HookSettings& settings() const { return settings_; }
  bool holds() const { return hook_->holds(); }  ///< any thread

  /// Any thread; returns at once.
  void Post(Event event);
  /// What is known of it: calls, time, failures, dropped events (hook_metrics.h). Any thread.
  Reading Report() const;

  /// After the last Post: the hook gets what waits, as long as there is time, and then `end`, unless
  /// that is null, and is closed. It has the seconds of its key end_s for that, and is then
  /// interrupted.
  void AskToFinish(Event end, std::int64_t now_ns);
  /// Waits until it has; false when its thread is still inside a call half a second after it was
  /// interrupted: then this object must be left where it is.
  bool AwaitFinish();
  bool finished() const;

  /// What the thread repeats: waits up to `timeout_ms` for an event, or until OnTime is due.
  void PollOnce(int timeout_ms);

 private:
  void StartHook();
  void Call(const std::function<Status()>& call);
  void NoteDone();
  Event Take(int timeout_ms);
  std::int64_t DueNs() const;
  bool Finishing() const;
  void Give(const HookEvent& event);
  void GiveEnd();
  std::string State(std::int64_t now_ns) const;

  const HookSettings settings_;
  const std::unique_ptr<Hook> hook_;
  const LogCallback log_;
  const HookMoments wants_;
  bool started_ = false;  ///< of the hook's thread, as what follows
  std::uint64_t told_dropped_ = 0;

  mutable std::mutex mutex_;  ///< of all that follows, but for the loop
  std::condition_variable changed_;
  std::deque<Event> queue_;
  Event end_;  ///< null: it is given none
  bool ending_ = false;
  std::int64_t deadline_ns_ = 0;
  bool finished_ = false, stopping_ = false;
  HookTally tally_;
  std::uint64_t dropped_ = 0;
  std::string done_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace murmurate
