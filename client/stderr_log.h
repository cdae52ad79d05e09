// StderrLog: where a client's warnings go while its game has set no log of its own: to stderr, so
// that a game that is played wrongly, or that the learner refuses, does not go on without a word.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "murmurate/log.h"

namespace murmurate {

class StderrLog {
 public:
  /// Each sentence once, whatever its numbers are; warnings and errors, not what goes well. Any
  /// thread; never blocks on stderr (client/platform.h).
  void Say(LogLevel level, std::string_view message);

  /// A callback that has one.
  static LogCallback Make();

 private:
  static constexpr std::size_t kMost = 64;  ///< sentences; then a last line says so

  std::mutex mutex_;
  std::set<std::string, std::less<>> said_;
};

}  // namespace murmurate
