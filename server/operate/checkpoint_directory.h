// The folder `checkpoints`: names, links, what is swept, who may write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

/// The prefix of what a writer at work, or one that died, has not finished.
constexpr char kUnfinished[] = ".tmp-";

std::string StepName(std::uint64_t step);  ///< "step-000000123456"
std::optional<std::uint64_t> StepOf(std::string_view name);
std::string BestName(std::uint64_t step);  ///< "best-step-000000123456"
/// The steps that have a folder of that name, ascending.
std::vector<std::uint64_t> BestSteps(const std::string& checkpoints);

/// One writer at a time, of any thread or process; waits for the other.
class CheckpointLock {
 public:
  static Result<CheckpointLock> Acquire(const std::string& checkpoints);
  CheckpointLock(CheckpointLock&& other) noexcept;
  CheckpointLock& operator=(CheckpointLock&&) = delete;
  ~CheckpointLock();

 private:
  explicit CheckpointLock(int fd) : fd_(fd) {}
  int fd_;
};

/// Removes every .tmp-*; under the lock no process is at work on one.
void SweepUnfinished(const std::string& checkpoints);

/// Deletes the checkpoint `name`. It loses its name first, so that a half-deleted one is only
/// swept.
Status DeleteCheckpoint(const std::string& checkpoints, const std::string& name);

/// `link` (latest, best) names `name` from now on: renamed over, never missing.
Status PointLink(const std::string& checkpoints, const std::string& link, const std::string& name);

Status RenamePath(const std::string& from, const std::string& to);
/// Both are there afterwards, each in the other's place: in one step where the file system can.
Status SwapPaths(const std::string& one, const std::string& other);

}  // namespace murmurate
