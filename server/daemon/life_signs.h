// LifeSigns: tells a service manager that the learner lives, while it does: its ingest thread takes
// turns, and no batch is under way for longer than the manager's watchdog waits (as one on a device
// that hangs). mmr-operate tells it, so no sign comes when that thread hangs either. Also tells in
// one line how training goes (STATUS=).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "server/daemon/service_notice.h"

namespace murmurate {

class LifeSigns {
 public:
  /// `notice` must outlive this.
  explicit LifeSigns(const ServiceNotice* notice);

  /// The longest that the threads may wait between two turns: at most `usual_ms`, and a
  /// quarter of the watchdog's time.
  int MostWaitMs(int usual_ms) const;

  void IngestTurned(std::int64_t now_ns) { ingest_ns_ = now_ns; }  ///< after each turn
  /// The operating thread, after each turn. `batch_s`: how long the longest batch under way has
  /// taken so far.
  void OperateTurned(std::int64_t now_ns, double batch_s);
  /// The operating thread; sends `status` if it is another than the last and that was 2 s ago.
  void Say(std::int64_t now_ns, const std::string& status);

 private:
  const ServiceNotice* const notice_;
  std::atomic<std::int64_t> ingest_ns_{0};  ///< 0: it has not begun
  std::int64_t next_sign_ns_ = 0, next_status_ns_ = 0;
  std::string status_;
};

}  // namespace murmurate
