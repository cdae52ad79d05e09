// What tests of several learners see of them from outside: their processes, logs and checkpoints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/server/process.h"

namespace murmurate {

/// Processes that work in the folder of `place` and whose command line holds `text`.
inline std::vector<pid_t> ProcessesOf(const Workplace& place, const std::string& text = "") {
  namespace fs = std::filesystem;
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::error_code gone;
    if (fs::read_symlink(entry.path() / "cwd", gone) != fs::path(place.path())) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::replace(line.begin(), line.end(), '\0', ' ');
    if (line.find(text) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

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
