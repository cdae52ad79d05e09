// Signals: what the main thread waits for: SIGINT, SIGTERM and, where it ends the command or has
// it read its config again, SIGHUP (a closed terminal, a service that is reloaded), the end of a
// child, or a request of another thread. Made before any other
// thread, so that no thread but main ever sees a signal.
#pragma once

#include <mutex>
#include <optional>

#include "murmurate/status.h"
#include "server/operate/operate.h"
#include "shared/transport/socket.h"

namespace murmurate {

class Signals {
 public:
  enum class Event { kTimeout, kSignal, kHangup, kChild, kRequest };

  /// kIgnored: of learners and shards, which go on when their terminal is closed, and of the
  /// children that they start. An inherited SIG_IGN (nohup) is kept in any case.
  /// kTold: Wait says kHangup, and nothing ends.
  enum class Hangup { kEnds, kIgnored, kTold };
  explicit Signals(Hangup hangup = Hangup::kEnds);
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  /// Waits at most `timeout_ms` (-1: for ever). After the first kSignal a second SIGINT or SIGTERM
  /// ends the process at once, whatever it is doing; the death of its parent counts once.
  Event Wait(int timeout_ms);

  /// Requests the end of the run; the first request stays. Any thread.
  void Request(RunEnd end);
  /// The run cannot go on; `end`: how it ends.
  void RequestFailure(Status status, RunEnd end = RunEnd::kAsked);
  std::optional<RunEnd> requested() const;
  Status failure() const;

 private:
  const Hangup on_hangup_;
  int signal_fd_;
  WakeSignal wake_;
  mutable std::mutex mutex_;
  std::optional<RunEnd> end_;
  Status failure_;
};

}  // namespace murmurate
