// RoundPace: when a round of ingest ticks, when it answers, and how long it may sleep.
#pragma once

#include <algorithm>
#include <cstdint>

#include "shared/core/clock.h"

namespace murmurate {

class RoundPace {
 public:
  /// A peer waits for an answer: it goes out with this round.
  void Hurry() { urgent_ = true; }
  /// An ACCEPTED that only gives bytes back may wait for company: a client is not short of bytes in
  /// that time, and each costs both sides several system calls.
  void Owe(std::int64_t now_ns) {
    if (owed_since_ns_ == 0) owed_since_ns_ = now_ns;
  }
  bool AnswerDue(std::int64_t now_ns) const {
    return urgent_ || (owed_since_ns_ != 0 && now_ns - owed_since_ns_ >= kOweNs);
  }
  void Answered() {
    urgent_ = false;
    owed_since_ns_ = 0;
  }

  /// True once every 20 ms.
  bool Tick(std::int64_t now_ns) {
    if (now_ns < next_tick_ns_) return false;
    next_tick_ns_ = now_ns + kTickNs;
    return true;
  }
  /// Keeps rounds going for 2 s after a message, and while any sender is there.
  void StayAwake(std::int64_t now_ns) { rests_at_ns_ = now_ns + kRestNs; }
  /// The longest wait for the next message, `timeout_ms` at most.
  int WaitMs(int timeout_ms, std::int64_t now_ns) const {
    if (now_ns < rests_at_ns_) timeout_ms = std::min(timeout_ms, kTickMs);
    return owed_since_ns_ != 0 ? std::min(timeout_ms, 1) : timeout_ms;
  }

 private:
  static constexpr std::int64_t kOweNs = kNanosecondsPerMillisecond;
  static constexpr int kTickMs = 20;
  static constexpr std::int64_t kTickNs = kTickMs * kNanosecondsPerMillisecond;
  static constexpr std::int64_t kRestNs = 2 * kNanosecondsPerSecond;

  std::int64_t next_tick_ns_ = 0;
  std::int64_t rests_at_ns_ = 0;  ///< from then on only a message or Wake makes a round due
  bool urgent_ = false;
  std::int64_t owed_since_ns_ = 0;  ///< of the oldest ACCEPTED held back; 0: none
};

}  // namespace murmurate
