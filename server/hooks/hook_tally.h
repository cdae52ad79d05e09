// HookTally: what the calls of one hook have come to: how many, how long, which failed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "server/hooks/hook_metrics.h"
#include "server/metrics/reading.h"
#include "shared/core/clock.h"

namespace murmurate {

/// One thread at a time.
class HookTally {
 public:
  void Begin(std::int64_t now_ns) { inside_since_ns_ = now_ns; }
  void End(std::int64_t now_ns) {
    const double took_s = 1e-9 * static_cast<double>(now_ns - inside_since_ns_);
    inside_since_ns_ = 0;
    ++calls_;
    seconds_ += took_s;
    longest_s_ = std::max(longest_s_, took_s);
  }
  /// Seconds since the call under way began; 0: there is none.
  double InsideFor(std::int64_t now_ns) const {
    return inside_since_ns_ == 0 ? 0 : 1e-9 * static_cast<double>(now_ns - inside_since_ns_);
  }
  /// A call failed. True when that is to be said: the first time, and then at most once a minute.
  bool Failed(const std::string& sentence, std::int64_t now_ns) {
    ++failures_;
    trouble_ = sentence;
    const bool says = now_ns >= next_sentence_ns_;
    if (says) next_sentence_ns_ = now_ns + 60 * kNanosecondsPerSecond;
    return says;
  }
  void AddTo(Reading* reading) const {
    reading->Set(kHookCalls, calls_);
    reading->Set(kHookSeconds, seconds_);
    reading->Set(kHookLongest, longest_s_);
    reading->Set(kHookFailures, failures_);
    reading->Set(kHookTrouble, trouble_);
  }

 private:
  std::int64_t inside_since_ns_ = 0, next_sentence_ns_ = 0;
  std::uint64_t calls_ = 0, failures_ = 0;
  double seconds_ = 0, longest_s_ = 0;
  std::string trouble_;
};

}  // namespace murmurate
