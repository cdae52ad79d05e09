// RunFeed: asks a learner once a second how it is, on a thread of its own, so that a learner that
// takes its time holds no terminal up.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/top/actor_rates.h"
#include "server/top/run_curves.h"
#include "server/top/top_snapshot.h"
#include "shared/core/loop.h"

namespace murmurate {

struct RunSource {
  /// The answer to "status" of the learner or shard.
  std::function<Result<std::string>()> ask;
  /// The answers of the shards beside the one that answered so.
  std::function<std::vector<std::string>(const std::string& answer)> ask_shards;
  /// Whether one that has not answered is still there.
  std::function<bool()> alive;
};

class RunFeed {
 public:
  static constexpr std::int64_t kIntervalNs = 1'000'000'000;  ///< between two questions

  struct News {
    std::shared_ptr<const TopSnapshot> snapshot;  ///< null before the first answer
    bool gone = false;                            ///< it has ended; the snapshot is its last
  };

  /// `first`: an answer that is there already. `on_news` is called on the feed's thread.
  RunFeed(RunSource source, const std::string& first, std::function<void()> on_news);

  /// Any thread.
  News Latest() const;
  /// Shows the next model from now on, after the last one the first.
  void ShowNextModel();

 private:
  void PollOnce();
  void Ask();
  void Take(const std::string& answer);
  void TakeSilence();

  const RunSource source_;
  const std::function<void()> on_news_;
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  News news_;
  std::size_t model_ = 0;
  bool stopping_ = false, hurry_ = false;
  std::int64_t asked_ns_ = 0, answered_ns_ = 0;  ///< of mmr-top
  ActorRates rates_;                             ///< of mmr-top
  RunCurves curves_;                             ///< of mmr-top
  std::optional<Loop> loop_;                     ///< last: its thread uses all of these
};

/// A snapshot of one answer, with the curves of its first model.
TopSnapshot SnapshotOfAnswer(const std::string& answer, const std::vector<std::string>& shards);

}  // namespace murmurate
