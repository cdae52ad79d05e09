// DiskBudget: keeps the folder of a run within run.max_disk. Above it, the oldest checkpoints go
// first, then the oldest recordings and rotated logs, until the folder is within the bound again.
//
// What stays in any case: of each model the newest checkpoint that verifies and what is newer, the
// best one (checkpoints/best-*), the newest segment of each recording, log.txt, and every file that
// is none of these kinds. A checkpoint is deleted as its writer deletes one, under the same lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "murmurate/log.h"

namespace murmurate {

class DiskBudget {
 public:
  static constexpr std::uint64_t kUnbounded = UINT64_MAX;

  /// `directory`: of the run.
  DiskBudget(std::string directory, std::uint64_t max_bytes, LogCallback log);

  void set_max_bytes(std::uint64_t max_bytes) { max_bytes_ = max_bytes; }  ///< any thread

  /// Measures the folder and deletes what must go, with one line of the log if anything went or if
  /// the bound cannot be kept (that once, until it is kept again). One thread; it waits for the
  /// disk, and where checkpoints go it reads the newest one.
  void Keep();

 private:
  void Report(std::uint64_t held, std::uint64_t left, int checkpoints, int files);

  const std::string directory_;
  std::atomic<std::uint64_t> max_bytes_;
  const LogCallback log_;
  bool complained_ = false;
};

}  // namespace murmurate
