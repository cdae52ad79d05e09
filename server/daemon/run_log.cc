#include "server/daemon/run_log.h"

#include <pthread.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

namespace murmurate {
namespace {

const char* TextOf(LogLevel level) {
  return level == LogLevel::kInfo ? "info" : level == LogLevel::kWarning ? "warning" : "error";
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  return level == LogLevel::kInfo      ? spdlog::level::info
         : level == LogLevel::kWarning ? spdlog::level::warn
                                       : spdlog::level::err;
}

/// The name of the thread that calls: "mmr-learn", or "murmurate" of the main thread.
std::string ThisThread() {
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  return name;
}

/// "2026-01-31T12:00:00.123Z" (RFC 3339).
std::string UtcTime() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto ms = duration_cast<milliseconds>(now.time_since_epoch()).count() % 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[40];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(ms));
  return text;
}

}  // namespace

struct Log::Sink {
  Sink(const std::string& path, const std::string& run_name, const LogSettings& settings,
       Display* shown, LogLevel least_shown)
      : logger("murmurate", std::make_shared<spdlog::sinks::rotating_file_sink_mt>(
                                path, settings.max_bytes, static_cast<std::size_t>(settings.keep))),
        run(run_name),
        json(settings.format == LogFormat::kJson),
        display(shown),
        console(least_shown),
        least(settings.level) {
    logger.set_pattern(json ? "%v" : "%Y-%m-%d %H:%M:%S.%e %l %v");
    logger.flush_on(spdlog::level::info);
  }

  void Write(LogLevel level, std::string_view message) {
    if (level < least) return;
    const std::string line = json ? JsonLine(level, message) : TextLine(message);
    logger.log(ToSpdlog(level), line);
    if (level < console) return;
    const char* prefix = level == LogLevel::kInfo      ? ""
                         : level == LogLevel::kWarning ? "warning: "
                                                       : "error: ";
    display->Print(json ? line : prefix + std::string(message), stderr);
  }

  static std::string TextLine(std::string_view message) {
    return ThisThread() + ": " + std::string(message);
  }

  std::string JsonLine(LogLevel level, std::string_view message) const {
    const nlohmann::ordered_json line{{"time", UtcTime()},
                                      {"level", TextOf(level)},
                                      {"component", ThisThread()},
                                      {"run", run},
                                      {"message", message}};
    return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  spdlog::logger logger;
  const std::string run;
  const bool json;
  Display* const display;
  const LogLevel console;
  std::atomic<LogLevel> least;
};

Result<Log> Log::Open(const std::string& directory, const std::string& run,
                      const LogSettings& settings, Display* display, LogLevel console) {
  const std::string path = directory + "/log.txt";
  try {
    return Log(std::make_shared<Sink>(path, run, settings, display, console));
  } catch (const spdlog::spdlog_ex& error) {
    return ResourceError(
        path + ": cannot be written (" + error.what() +
        "); check the folder's permissions or choose another with --set run.dir=DIR");
  }
}

LogCallback Log::callback() const {
  return [sink = sink_](LogLevel level, std::string_view message) { sink->Write(level, message); };
}

void Log::SetLevel(LogLevel level) { sink_->least = level; }

}  // namespace murmurate
