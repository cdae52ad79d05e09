// ShardWaits: for which shards of a parameter server a learner's models wait. `murmurate status`
// shows it, and the exit code of the run depends on it. Learning threads call Set, other threads
// the rest; any thread.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/parameters/remote_store.h"

namespace murmurate {

class ShardWaits {
 public:
  void Set(const std::string& model, std::optional<ShardWait> wait) {
    const std::lock_guard lock(mutex_);
    if (wait)
      waits_[model] = *std::move(wait);
    else
      waits_.erase(model);
  }

  /// "model default: learning waits for shard 0 (tcp://...), ..."
  std::vector<std::string> Sentences() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> sentences;
    for (const auto& [model, wait] : waits_)
      sentences.push_back("model " + model + ": " + wait.sentence);
    return sentences;
  }

  /// kResource when a model has never reached its shard and so has learned nothing.
  Status Unreached() const {
    const std::lock_guard lock(mutex_);
    for (const auto& [model, wait] : waits_)
      if (wait.unreached)
        return ResourceError("stopped, and model " + model +
                             " has learned nothing: " + wait.sentence);
    return {};
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, ShardWait> waits_;
};

}  // namespace murmurate
