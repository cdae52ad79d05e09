// Histogram: how often values of a size were measured: one count a bucket, and their sum. Bounds
// are chosen once, by who measures.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace murmurate {

struct Histogram {
  Histogram() = default;
  /// `upper`: rising; bucket i is for values up to and with upper[i], and the one behind the last
  /// for all that are larger.
  explicit Histogram(std::span<const double> upper)
      : bounds(upper.begin(), upper.end()), counts(upper.size() + 1) {}

  void Add(double value) {
    ++counts[static_cast<std::size_t>(std::ranges::lower_bound(bounds, value) - bounds.begin())];
    sum += value;
  }
  /// Adds the values of one with the same bounds.
  void Add(const Histogram& other) {
    std::ranges::transform(counts, other.counts, counts.begin(), std::plus<>());
    sum += other.sum;
  }
  std::uint64_t count() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  bool operator==(const Histogram&) const = default;

  std::vector<double> bounds;
  std::vector<std::uint64_t> counts;
  double sum = 0;
};

}  // namespace murmurate
