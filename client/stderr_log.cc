#include "client/stderr_log.h"

#include <algorithm>
#include <cctype>
#include <memory>

#include "client/platform.h"

namespace murmurate {

void StderrLog::Say(LogLevel level, std::string_view message) {
  if (level == LogLevel::kInfo) return;
  std::string kind(message);
  std::erase_if(kind, [](unsigned char c) { return std::isdigit(c) != 0; });
  {
    std::lock_guard lock(mutex_);
    if (said_.size() > kMost || !said_.insert(std::move(kind)).second) return;
    if (said_.size() > kMost) message = "there are more warnings: set a log function to see them";
  }
  WriteToStderr("murmurate: " + std::string(message) + "\n");
}

LogCallback StderrLog::Make() {
  return [log = std::make_shared<StderrLog>()](LogLevel level, std::string_view message) {
    log->Say(level, message);
  };
}

}  // namespace murmurate
