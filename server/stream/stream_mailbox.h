// StreamMailbox: what other threads leave for a stream's thread: the newest weights, and which
// sequence numbers are on disk. Only the newest of each counts. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "shared/weights/weights.h"

namespace murmurate {

/// The last number in a checkpoint of each device that numbers its messages.
using CommittedSequences = std::vector<std::pair<std::string, std::uint64_t>>;

class StreamMailbox {
 public:
  struct News {
    std::shared_ptr<const Snapshot> snapshot;  ///< null: none since the last Pop
    CommittedSequences committed;              ///< empty: the same
  };

  void Post(std::shared_ptr<const Snapshot> snapshot) {
    const std::lock_guard lock(mutex_);
    news_.snapshot = std::move(snapshot);
  }
  void Post(CommittedSequences committed) {
    const std::lock_guard lock(mutex_);
    news_.committed = std::move(committed);
  }
  News Pop() {
    const std::lock_guard lock(mutex_);
    return std::exchange(news_, {});
  }

 private:
  std::mutex mutex_;
  News news_;
};

}  // namespace murmurate
