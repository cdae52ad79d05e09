// RunFiles: what the page shows from the disk: the learning curves of this run and of others in the
// same folder, the end of its log, its checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "server/operate/progress_file.h"

namespace murmurate {

/// Any thread. Curves reads files again no sooner than kLookNs after the last time; the others read
/// theirs at each call.
class RunFiles {
 public:
  static constexpr std::int64_t kLookNs = 2'000'000'000;
  static constexpr std::size_t kMostRuns = 8;      ///< beside this one: the newest
  static constexpr std::size_t kMostModels = 4;    ///< of this run, beside the first
  static constexpr std::size_t kMostPoints = 400;  ///< of a curve, as it is shown
  static constexpr std::size_t kMostLines = 200, kMostLogBytes = 32 << 10;
  static constexpr std::size_t kMostCheckpoints = 24;

  /// `directory`: of this run, in the folder of all runs.
  explicit RunFiles(std::string directory) : directory_(std::move(directory)) {}

  /// {"name": "cartpole", "own": true, "curves": {"rollout/ep_rew_mean": [[steps, value], ...]}} of
  /// the runs that have changed since `seen`, a revision by name, which becomes the newest.
  using Seen = std::map<std::string, std::uint64_t>;
  std::string Curves(Seen* seen, std::int64_t now_ns);
  /// {"lines": ["2026-...", ...]}: the last ones of log.txt.
  std::string Log() const;
  /// [{"step": 1000, "best": false, "latest": true, "written_s": 1769860800, "bytes": 4711}, ...]
  /// of the first model, the newest first; written_s: the time of writing, in seconds since 1970.
  std::string Checkpoints() const;
  /// The text of the resolved config.toml.
  std::string Config() const;

 private:
  struct Shown {
    bool own = false;
    std::unique_ptr<ProgressFile> file;
  };
  void Look(std::int64_t now_ns);
  void Keep(const std::string& name, const std::string& path, bool own);

  const std::string directory_;
  std::mutex mutex_;
  std::int64_t looked_ns_ = -kLookNs;
  std::map<std::string, Shown> runs_;  ///< by the name shown
};

}  // namespace murmurate
