// The time of day, for files that other programs read.
#pragma once

#include <chrono>

namespace murmurate {

/// Seconds since 1970 began.
inline double UnixSeconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace murmurate
