// OpenTrajectories: how many each thread of the game has begun and not handed over, over all models
// of a client, so that an agent knows when what it would wait for can only come from its own
// thread. Written in the paces that wait, at both ends of a trajectory. Any thread: an agent may be
// closed on another one than it played on.
#pragma once

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

namespace murmurate {

class OpenTrajectories {
 public:
  void Opened(std::thread::id thread) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(counts_, thread, &Count::thread);
    if (found != counts_.end()) {
      ++found->open;
    } else {
      counts_.push_back({thread, 1});
    }
  }
  void Closed(std::thread::id thread) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(counts_, thread, &Count::thread);
    if (found != counts_.end() && --found->open == 0) counts_.erase(found);
  }
  bool AnyOf(std::thread::id thread) const {
    const std::lock_guard lock(mutex_);
    return std::ranges::find(counts_, thread, &Count::thread) != counts_.end();
  }

 private:
  struct Count {
    std::thread::id thread;
    int open;
  };
  mutable std::mutex mutex_;
  std::vector<Count> counts_;
};

}  // namespace murmurate
