// Log: the run's log.txt, and what of it is worth a line on the console. The only place that
// includes spdlog; rooms below speak through a LogCallback.
#pragma once

#include <memory>
#include <string>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/operate/display.h"

namespace murmurate {

class Log {
 public:
  /// Everything goes to `path` with the time of day, flushed line by line; `console` and worse also
  /// to stderr, above the display's table.
  static Result<Log> Open(const std::string& path, Display* display, LogLevel console);

  /// The callback for any thread; valid while a copy of it or the Log exists.
  LogCallback callback() const;

 private:
  struct Sink;
  explicit Log(std::shared_ptr<Sink> sink) : sink_(std::move(sink)) {}
  std::shared_ptr<Sink> sink_;
};

}  // namespace murmurate
