// EventStream: what one reader of /api/events is sent, as server-sent events
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): each names what it holds.
//
//   page         {"control": true}                         once, first
//   status       what `murmurate status --json` answers    about once a second
//   metrics      MetricsJson                               every fifth second
//   curves, log, checkpoints                               RunFiles, when they have changed
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "server/operate/snapshot_board.h"
#include "server/page/run_files.h"

namespace murmurate {

/// One thread, the reader's.
class EventStream {
 public:
  static constexpr int kWaitMs = 5000;  ///< after which a comment shows that the stream lives

  /// Both outlive it.
  EventStream(SnapshotBoard* board, RunFiles* files, bool control)
      : board_(*board), files_(*files), control_(control) {}

  /// Waits up to kWaitMs for the next snapshot: the events of it, a comment when there was none.
  std::string Next();

 private:
  void AddFiles(std::int64_t now_ns, std::string* text);
  void AddChanged(const std::string& event, const std::string& data, std::string* text);

  SnapshotBoard& board_;
  RunFiles& files_;
  const bool control_;
  bool begun_ = false;
  std::int64_t last_ns_ = 0;  ///< of the last snapshot
  std::int64_t files_ns_ = 0, metrics_ns_ = 0;
  RunFiles::Seen seen_;
  std::map<std::string, std::string> sent_;  ///< the newest data by event
};

}  // namespace murmurate
