// LogSettings: [log]: how the log of a run is written, and how much of it is kept.
#pragma once

#include <cstdint>

#include "murmurate/log.h"

namespace murmurate {

template <typename S>
class Keys;

enum class LogFormat : std::uint8_t {
  kText,  ///< "2026-01-31 12:00:00.123 info mmr-learn: SENTENCE"
  kJson,  ///< an object a line, with the fields time, level, component, run, message
};

struct LogSettings {
  LogFormat format = LogFormat::kText;
  LogLevel level = LogLevel::kInfo;                   ///< lines below it are not written
  std::uint64_t max_bytes = std::uint64_t{64} << 20;  ///< of log.txt; then it becomes log.1.txt
  int keep = 3;  ///< earlier files: log.1.txt (the newest) to log.3.txt
};

const Keys<LogSettings>& LogKeys();

}  // namespace murmurate
