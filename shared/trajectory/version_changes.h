// VersionChanges: where a trajectory went on under newer parameters, so that what is played is
// never older than it must be. The log-probability of each step is that of the version that chose
// it; a recurrent model's state goes on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace murmurate {

/// From `step` on, a trajectory was played under its version + `later`.
struct VersionChange {
  std::uint16_t step = 0, later = 0;
  friend bool operator==(const VersionChange&, const VersionChange&) = default;
};

class VersionChanges {
 public:
  static constexpr std::size_t kMost = 15;

  std::span<const VersionChange> all() const { return {changes_.data(), count_}; }
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == kMost; }
  /// The newest version is so much newer than the first.
  std::uint64_t later() const { return empty() ? 0 : changes_[count_ - 1].later; }

  void Clear() { count_ = 0; }
  /// Adds a change, or replaces one at the same step. False, and nothing is added: it is not after
  /// the others and newer, or there is no room, or a number is too large for its place.
  bool Add(std::uint64_t step, std::uint64_t later) {
    const std::uint64_t last = empty() ? 0 : changes_[count_ - 1].step;
    const bool again = !empty() && step == last;
    if (step > kLargest || later > kLargest || later <= this->later()) return false;
    if (!again && (full() || step <= last)) return false;
    if (!again) ++count_;
    changes_[count_ - 1] = {static_cast<std::uint16_t>(step), static_cast<std::uint16_t>(later)};
    return true;
  }
  /// Forgets those of the steps from `steps` on.
  void Cut(int steps) {
    while (!empty() && changes_[count_ - 1].step >= steps) --count_;
  }

  /// visit(later, begin, end) of each run of steps under one version, of the first `steps`.
  template <typename Visit>
  void EachRun(int steps, Visit visit) const {
    int begin = 0;
    std::uint64_t under = 0;
    for (const VersionChange& change : all()) {
      visit(under, begin, int{change.step});
      begin = change.step;
      under = change.later;
    }
    visit(under, begin, steps);
  }

 private:
  static constexpr std::uint64_t kLargest = UINT16_MAX;
  std::array<VersionChange, kMost> changes_{};
  std::uint16_t count_ = 0;
};

}  // namespace murmurate
