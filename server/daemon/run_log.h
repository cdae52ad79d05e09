// Log: the run's log.txt, and what of it is worth a line on the console. The only place that
// includes spdlog; rooms below speak through a LogCallback.
#pragma once

#include <memory>
#include <string>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/operate/display.h"
#include "server/operate/log_settings.h"

namespace murmurate {

class Log {
 public:
  /// What is at least of `settings.level` goes to log.txt in `directory`, the folder of `run`,
  /// flushed line by line; what is also of `console` or worse goes to stderr, above the display's
  /// table. The file is rotated before it is larger than settings.max_bytes. A line has the local
  /// time of day (of JSON: in UTC), the level, the thread that speaks as its component, and the
  /// sentence; one of JSON also the run.
  static Result<Log> Open(const std::string& directory, const std::string& run,
                          const LogSettings& settings, Display* display, LogLevel console);

  /// The callback for any thread; valid while a copy of it or the Log exists.
  LogCallback callback() const;
  /// What is below `level` is not written from now on; any thread.
  void SetLevel(LogLevel level);

 private:
  struct Sink;
  explicit Log(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
  std::shared_ptr<Sink> sink_;
};

}  // namespace murmurate
