// SeenStatistics: what the workers of a shard have seen of observations and of returns (moments.h),
// behind the range's numbers of shard 0. A push brings all that its worker has seen; an answer holds
// their sum.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "server/parameters/shard_workers.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

class SeenStatistics {
 public:
  /// `count`: floats of each worker's (ShardSettings::StatisticsOf); 0: of a shard that has none.
  SeenStatistics(const ParameterLayout& layout, std::size_t count)
      : layout_(layout), count_(count) {}

  std::size_t count() const { return count_; }
  /// How many of them are of observations: the first.
  std::size_t observations() const { return count_ > 0 ? layout_.statistics.count : 0; }
  /// Keeps what a push says its worker has seen; false: not finite, and nothing has changed.
  bool Receive(std::span<const float> seen, ShardWorker* worker);
  /// Restores what the last Receive replaced, when its push is refused.
  void PutBack(ShardWorker* worker) { std::swap(worker->statistics, arrived_); }

  /// The center's statistics are not the sum over all workers any more.
  void MarkOld() { old_ = count_ > 0; }
  bool PopOld() { return std::exchange(old_, false); }
  /// Sums what all workers have seen, in the order of their numbers.
  void SumInto(const ShardWorkers& workers, std::span<float> sum) const;

 private:
  const ParameterLayout layout_;
  const std::size_t count_;
  AlignedFloats arrived_;  ///< not checked yet; then those before them
  bool old_ = false;
};

}  // namespace murmurate
