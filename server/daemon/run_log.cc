#include "server/daemon/run_log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>

namespace murmurate {

struct Log::Sink {
  Sink(const std::string& path, Display* shown, LogLevel least)
      : logger("murmurate", std::make_shared<spdlog::sinks::basic_file_sink_mt>(path)),
        display(shown),
        console(least) {
    logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
    logger.flush_on(spdlog::level::info);
  }
  void Write(LogLevel level, std::string_view message) {
    logger.log(level == LogLevel::kInfo      ? spdlog::level::info
               : level == LogLevel::kWarning ? spdlog::level::warn
                                             : spdlog::level::err,
               message);
    if (level < console) return;
    const char* prefix = level == LogLevel::kInfo      ? ""
                         : level == LogLevel::kWarning ? "warning: "
                                                       : "error: ";
    display->Print(prefix + std::string(message), stderr);
  }

  spdlog::logger logger;
  Display* display;
  LogLevel console;
};

Result<Log> Log::Open(const std::string& path, Display* display, LogLevel console) {
  try {
    return Log(std::make_shared<Sink>(path, display, console));
  } catch (const spdlog::spdlog_ex& error) {
    return ResourceError(
        path + ": cannot be written (" + error.what() +
        "); check the folder's permissions or choose another with --set run.dir=DIR");
  }
}

LogCallback Log::callback() const {
  return [sink = sink_](LogLevel level, std::string_view message) { sink->Write(level, message); };
}

}  // namespace murmurate
