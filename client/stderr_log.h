// StderrLog: where a client's warnings go while its game has set no log of its own: to stderr, so
// that the user of a game that is played wrongly, or that the learner refuses, is told.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "murmurate/log.h"

namespace murmurate {

class StderrLog {
 public:
  /// Writes a warning or an error; leaves out infos, and sentences that equal an earlier one apart
  /// from digits. Any thread; never blocks on stderr (client/platform.h).
  void Say(LogLevel level, std::string_view message);

  /// A callback that writes to a StderrLog of its own.
  static LogCallback Make();

 private:
  static constexpr std::size_t kMost = 64;  ///< sentences; a last line then says there are more

  std::mutex mutex_;
  std::set<std::string, std::less<>> said_;
};

}  // namespace murmurate
