// The one clock: CLOCK_MONOTONIC in nanoseconds. Pure classes take `now_ns` as an argument instead.
#pragma once

#include <time.h>

#include <cstdint>

namespace murmurate {

inline constexpr std::int64_t kNanosecondsPerMillisecond = 1'000'000;
inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

inline std::int64_t MonotonicNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kNanosecondsPerSecond + now.tv_nsec;
}

}  // namespace murmurate
