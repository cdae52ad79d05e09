// StalenessMail: ages of trajectories on their way from the learning thread, which knows them, to
// ingest, which knows the actors.
#pragma once

#include <cmath>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

namespace murmurate {

class StalenessMail {
 public:
  struct Age {
    std::uint64_t sender = 0, versions = 0;  ///< the mean over the steps, rounded
  };

  /// The ages of a batch's trajectories that know who sent them; those of another life of the model
  /// (newer than `version`) have none. Allocates only while they are not collected.
  template <typename Trajectories>
  void Post(const Trajectories& trajectories, std::uint64_t version) {
    const std::lock_guard lock(mutex_);
    for (const auto& trajectory : trajectories) {
      if (trajectory.sender == 0 || trajectory.steps == 0 || trajectory.newest_version() > version)
        continue;
      ages_.push_back({trajectory.sender,
                       static_cast<std::uint64_t>(std::lround(trajectory.MeanAge(version)))});
    }
  }
  /// Replaces what `ages` held by what was posted since the last call.
  void Collect(std::vector<Age>* ages) {
    ages->clear();
    const std::lock_guard lock(mutex_);
    std::swap(*ages, ages_);
  }

 private:
  std::mutex mutex_;
  std::vector<Age> ages_;
};

}  // namespace murmurate
