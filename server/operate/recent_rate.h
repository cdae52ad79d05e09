// RecentRate: how fast a count rises, over the last half minute: steady where batches are far
// apart, and soon right after a change. One thread.
#pragma once

#include <cstdint>
#include <deque>

namespace murmurate {

class RecentRate {
 public:
  static constexpr std::int64_t kWindowNs = 30'000'000'000;  ///< the most that is looked back
  static constexpr std::int64_t kSpacingNs = 2'000'000'000;  ///< the least between two samples

  explicit RecentRate(std::int64_t start_ns) : samples_{{start_ns, 0}} {}
  /// The count that the rate begins with; before the first call of PerSecond.
  void BeginAt(std::uint64_t count) { samples_.front().count = count; }
  /// A second, since the oldest sample in the window; 0 in the first moment. `now_ns`: monotonic,
  /// not before that of the last call.
  double PerSecond(std::uint64_t count, std::int64_t now_ns);

 private:
  struct Sample {
    std::int64_t at_ns = 0;
    std::uint64_t count = 0;
  };
  std::deque<Sample> samples_;  ///< at most kWindowNs / kSpacingNs + 1
};

}  // namespace murmurate
