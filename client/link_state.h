// LinkState: what a client says of its link to the learner, to any thread: its state, its numbers,
// whether the game should stop. mmr-client writes; a change of the state is logged.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "client/block_sender.h"
#include "murmurate/client.h"
#include "shared/wire/session_totals.h"

namespace murmurate {

class LinkState {
 public:
  struct Numbers {
    BlockSender::Totals totals;
    std::uint64_t refused = 0, reconnects = 0;
    std::uint64_t trajectories_committed = 0, steps_committed = 0, lost = 0;
  };

  LinkState(std::string address, LogCallback log);

  // Any thread.
  StateReport report() const;
  Numbers numbers() const;
  bool should_stop() const { return should_stop_.load(std::memory_order_acquire); }

  // mmr-client.
  /// Keeps the state for report(), and logs a change; that no learner answers only after 3 s.
  void Announce(StateReport report, std::int64_t now_ns);
  void Stop() { should_stop_.store(true, std::memory_order_release); }
  void CountReconnect();
  void NoteSent(const BlockSender::Totals& totals);
  void NoteRefused(const wire::SessionTotals& totals);
  void NoteCommitted(const wire::SessionTotals& totals);

 private:
  const std::string address_;
  const LogCallback log_;
  const std::int64_t started_ns_;
  bool said_no_learner_ = false;
  std::atomic<bool> should_stop_{false};
  mutable std::mutex mutex_;
  StateReport report_;
  Numbers numbers_;
};

}  // namespace murmurate
