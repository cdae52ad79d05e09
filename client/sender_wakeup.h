// SenderWakeup wakes mmr-client from a game's thread: there is one for all agents of a client.
#pragma once

#include <atomic>
#include <cstdint>

#include "client/open_trajectories.h"
#include "client/platform.h"
#include "shared/transport/socket.h"

namespace murmurate {

struct SenderWakeup {
  WakeSignal wake;
  /// True while mmr-client sleeps and could send a block if there were one. It is set before the
  /// last check of the rings, and read after a block is handed over: one of the two sees the other.
  std::atomic<bool> wanted{false};
  std::atomic<bool> registry_changed{false};  ///< an agent came or closed
  std::atomic<bool> complained{false};        ///< an agent has a sentence to be passed on
  std::atomic<bool> closed{false};            ///< the client is gone: nothing will be sent any more
  std::atomic<std::int64_t> max_wait_ns{0};   ///< of one ModelWait::Until; 0: no limit
  OpenTrajectories open;
  const HomeProcess home;  ///< whose threads are at the other end
  bool nobody_hears() const { return closed.load(std::memory_order_acquire) || home.left(); }

  /// mmr-client, before it sleeps: false when something is ready after all.
  template <typename AnyReady>
  bool MaySleep(bool could_send, AnyReady any_ready) {
    // guard: TrajectoryRing.NoHandOverIsSleptThroughHoweverLateAStoreIsSeen (1 to 5 of 5): `wanted`
    //   is set by a seq_cst store, before the count of waiting blocks is read
    wanted.store(could_send, std::memory_order_seq_cst);
    // guard: SenderWakeup.AHandOverWakesNobodyWhoDoesNotSleepOrCannotSend,
    //   TrajectoryRing.NoHandOverIsSleptThroughHoweverLateAStoreIsSeen (3 of 5): the sender reads
    //   the count of waiting blocks once more before it sleeps
    if (!could_send || !any_ready()) return true;
    wanted.store(false, std::memory_order_relaxed);
    return false;
  }
  /// Called by an agent after it handed over a block.
  void Notify() {
    if (!wanted.load(std::memory_order_seq_cst)) return;
    if (wanted.exchange(false, std::memory_order_seq_cst)) wake.Set();
  }
};

}  // namespace murmurate
