// HookTimes: every so many steps, or seconds, or whichever comes first. HookClock: when that is.
// HookClocks: the same for each of several models.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace murmurate {

struct HookTimes {
  std::uint64_t every_steps = 0;  ///< learned from; 0: not by steps
  double every_s = 0.0;           ///< 0: not by time
};

/// One thread.
class HookClock {
 public:
  explicit HookClock(const HookTimes& times)
      : every_steps_(times.every_steps),
        every_ns_(static_cast<std::int64_t>(times.every_s * 1e9)) {}

  /// Counts from here on.
  void Begin(std::uint64_t steps, std::int64_t now_ns) {
    begun_ = true;
    steps_ = steps;
    since_ns_ = now_ns;
  }
  /// True once each time; the next is counted from there. The first call begins to count, and is
  /// not due.
  bool Due(std::uint64_t steps, std::int64_t now_ns) {
    if (!begun_) {
      Begin(steps, now_ns);
      return false;
    }
    const bool by_steps = every_steps_ > 0 && steps >= steps_ + every_steps_;
    const bool by_time = every_ns_ > 0 && now_ns - since_ns_ >= every_ns_;
    if (by_steps || by_time) Begin(steps, now_ns);
    return by_steps || by_time;
  }

 private:
  const std::uint64_t every_steps_;
  const std::int64_t every_ns_;
  bool begun_ = false;
  std::uint64_t steps_ = 0;
  std::int64_t since_ns_ = 0;
};

/// One thread.
class HookClocks {
 public:
  explicit HookClocks(const HookTimes& times) : times_(times) {}

  bool Due(const std::string& model, std::uint64_t steps, std::int64_t now_ns) {
    return clocks_.try_emplace(model, times_).first->second.Due(steps, now_ns);
  }

 private:
  const HookTimes times_;
  std::map<std::string, HookClock> clocks_;
};

}  // namespace murmurate
