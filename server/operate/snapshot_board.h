// SnapshotBoard: hands what a run is like from mmr-operate to threads that show it, so that these
// never touch what learning threads use.
//
//   reader --Await--> asks, wakes --> mmr-operate --Publish--> every reader that waits
//
// A snapshot is made when a reader asks for one that is newer than the last, and at most once a
// second. While there is no reader, nothing is made.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/metrics/reading.h"

namespace murmurate {

/// RunSnapshot is what a run was at one moment. It is not changed after it was published.
struct RunSnapshot {
  std::int64_t at_ns = 0;  ///< monotonic
  /// StatusReport::ToJson of at most kMostActors, live ones first then, in one line.
  std::string status;
  std::vector<Reading> readings = {};  ///< StatusReadings of all
  int live_actors = 0;
  bool paused = false;           ///< learning is (LearningPause)
  std::int64_t unpaused_ns = 0;  ///< when its last pause ended, monotonic; 0: none has
  /// The model's name and when its newest batch was learned from, monotonic; 0: there was none.
  std::vector<std::pair<std::string, std::int64_t>> batches = {};

  static constexpr std::size_t kMostActors = 200;
};

class SnapshotBoard {
 public:
  static constexpr std::int64_t kIntervalNs = 1'000'000'000;  ///< the least between two snapshots

  /// `wake` has mmr-operate look at due_ns(); it is called on the readers' threads.
  explicit SnapshotBoard(std::function<void()> wake) : wake_(std::move(wake)) {}

  /// Waits up to `timeout_ms` for a snapshot that was made at `not_before_ns` or later. Null: none
  /// has come, or the board was closed. Any thread.
  std::shared_ptr<const RunSnapshot> Await(std::int64_t not_before_ns, int timeout_ms);
  /// Ends every wait, now and later; any thread.
  void Close();

  // mmr-operate:
  /// When the next snapshot is due, monotonic; INT64_MAX while no reader asks for one.
  std::int64_t due_ns() const;
  void Publish(std::shared_ptr<const RunSnapshot> snapshot);

 private:
  const std::function<void()> wake_;
  mutable std::mutex mutex_;
  std::condition_variable published_;
  std::shared_ptr<const RunSnapshot> latest_;
  bool asked_ = false, closed_ = false;
};

}  // namespace murmurate
