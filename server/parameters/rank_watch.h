// RankWatch: names the ranks that the others wait for. A rank that waits for long tells all others what
// it waits for, and those that wait for the same answer; a rank that does not is missing:
//
//   rank 3 on host b has not joined batch 812; last heard 31 s ago
//
// Nothing is sent while no rank waits for long. One thread, that which the collective is used by.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "server/parameters/collective.h"

namespace murmurate {

/// Where in a job's work all ranks meet.
struct RankMeeting {
  static constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  std::uint64_t batch = 0;  ///< from 1
  std::uint64_t step = 0;   ///< from 1; 0: the batch itself; kEnd: its end
};

class RankWatch {
 public:
  struct Settings {
    std::int64_t patience_ns =
        30'000'000'000;                       ///< then missing ranks are named, and again as later
    std::int64_t limit_ns = 600'000'000'000;  ///< then the wait fails; 0: never
  };

  /// The collective must outlive it.
  explicit RankWatch(Collective* collective, std::function<std::int64_t()> now_ns = {});

  void Configure(const Settings& settings) { settings_ = settings; }
  /// Gets each sentence about a missing rank; empty: they are not wanted.
  void SayTo(std::function<void(const std::string&)> say) { say_ = std::move(say); }

  /// The wait for all ranks begins; every rank makes the same calls.
  void Begin(const RankMeeting& meeting);
  /// To be called many times a second meanwhile; costs a look at a clock mostly. Time in which it is
  /// not called does not count: this process was stopped. kResource: the wait has
  /// taken too long, and the status names who is missing; or the collective has failed.
  Status Poll();
  /// All ranks have come.
  void End();

 private:
  struct Heard {
    std::uint64_t wait = 0;  ///< the number of the latest wait that the rank told
    std::int64_t at_ns = 0;
  };

  void LeaveOut(std::int64_t ns);
  Status Listen(std::int64_t now_ns);
  Status Tell(std::int64_t now_ns);
  std::vector<std::string> Missing(std::int64_t now_ns) const;
  std::string Sentence(int rank, std::int64_t now_ns) const;

  Collective* const collective_;
  const std::function<std::int64_t()> now_ns_;
  Settings settings_;
  std::function<void(const std::string&)> say_;
  std::vector<Heard> heard_;  ///< by rank
  RankMeeting meeting_;
  std::uint64_t wait_ = 0;  ///< how many waits have begun
  bool asked_ = false;      ///< another rank has told that it waits for the same
  std::int64_t begun_ns_ = 0, looked_ns_ = 0, said_ns_ = 0, all_ns_ = 0;
  std::int64_t told_ns_ = 0;  ///< 0: nothing of this wait
};

}  // namespace murmurate
