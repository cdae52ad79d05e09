// What tests of several learners see of them from outside: their processes, logs and checkpoints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/server/process.h"

namespace murmurate {

/// Merges by the checkpoints of a run's shard 0: the newest number. `run`: its folder in `place`.
inline std::uint64_t MergesOf(const Workplace& place, const std::string& run) {
  namespace fs = std::filesystem;
  std::uint64_t newest = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(
           place.path() + '/' + run + "/shard-0/models/default/checkpoints", error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-"))
      newest = std::max<std::uint64_t>(newest, std::stoull(name.substr(5)));
  }
  return newest;
}

/// Until shard 0 has made so many merges more than now.
inline bool GoesOn(const Workplace& place, const std::string& run, std::uint64_t merges) {
  const std::uint64_t from = MergesOf(place, run);
  return Eventually(60, [&] { return MergesOf(place, run) >= from + merges; });
}

}  // namespace murmurate
