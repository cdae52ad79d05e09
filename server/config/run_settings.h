// RunSettings: [run], and the keys of [environment].
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace murmurate {

template <typename S>
class Keys;

struct EnvironmentOptions;

/// The distance from the seed of one of several learners to the next one's.
inline constexpr std::uint64_t kSeedStride = 1000;

/// One actor for each processor but one, the learner's.
int DefaultActors();

/// What is done when the policy of a model has collapsed (server/learn/collapse_watch.h).
enum class OnCollapse : std::uint8_t {
  kReturn,  ///< back to its best parameters at half the rate, where this learner alone steps them
  kSay,     ///< a warning
  kOff,
};

struct RunSettings {
  std::string name;
  std::string dir = "runs";
  std::string environment;  ///< "": none
  std::uint64_t seed = 1;
  int actors = DefaultActors(), agents = 2;  ///< this learner's share of the actors
  int learners = 1, shards = 0;              ///< that `train` starts
  std::optional<std::uint64_t> steps, stop_at_steps;
  std::optional<double> stop_at_return;
  OnCollapse on_collapse = OnCollapse::kReturn;
  double log_interval_s = 5.0;
  std::optional<std::uint64_t> max_disk;  ///< bytes of the run's folder (operate/disk_budget.h)
  int rank = 0, ranks = 1;                ///< of a job that mpirun started

  /// Rank 1 and up: the run ends as rank 0 says, and by nothing else.
  bool follows() const { return rank > 0; }
  /// The steps at which the run ends; UINT64_MAX where its steps do not say it.
  std::uint64_t most_steps() const;
  /// Takes this learner's part of steps and actors, where `learners` share them.
  void ShareAmong(int learners);
};

const Keys<RunSettings>& RunKeys();
/// Options of single environments, unset where they are not given.
const Keys<EnvironmentOptions>& EnvironmentKeys();

}  // namespace murmurate
