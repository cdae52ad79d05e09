// StalenessHistogram: how late the trajectories of one actor were: versions between the weights
// they were played under and the newest when their batch was begun.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>

#include "server/metrics/histogram.h"

namespace murmurate {

class StalenessHistogram {
 public:
  static constexpr int kBuckets = 16;

  /// 0, 1, 2-3, 4-7 ... 8192-16383, 16384 and more.
  static int BucketOf(std::uint64_t versions) {
    return std::min(static_cast<int>(std::bit_width(versions)), kBuckets - 1);
  }
  /// "0", "1", "2-3", "16384+"
  static std::string NameOf(int bucket) {
    const std::uint64_t first = bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
    if (bucket < 2) return std::to_string(first);
    if (bucket == kBuckets - 1) return std::to_string(first) + '+';
    return std::to_string(first) + '-' + std::to_string(2 * first - 1);
  }

  void Add(std::uint64_t versions) {
    ++counts_[static_cast<std::size_t>(BucketOf(versions))];
    sum_ += static_cast<double>(versions);
  }
  void Add(const StalenessHistogram& other) {
    std::ranges::transform(counts_, other.counts_, counts_.begin(), std::plus<>());
    sum_ += other.sum_;
  }
  const std::array<std::uint64_t, kBuckets>& counts() const { return counts_; }
  /// The same with the last version of each bucket as its bound.
  Histogram ToHistogram() const {
    Histogram histogram;
    for (int i = 0; i + 1 < kBuckets; ++i)
      histogram.bounds.push_back(static_cast<double>((std::uint64_t{1} << i) - 1));
    histogram.counts.assign(counts_.begin(), counts_.end());
    histogram.sum = sum_;
    return histogram;
  }

 private:
  std::array<std::uint64_t, kBuckets> counts_{};
  double sum_ = 0;
};

}  // namespace murmurate
