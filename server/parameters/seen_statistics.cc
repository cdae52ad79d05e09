#include "server/parameters/seen_statistics.h"

#include <algorithm>
#include <vector>

#include "server/parameters/moments.h"
#include "server/parameters/observation_sum.h"
#include "shared/trajectory/finite.h"

namespace murmurate {

bool SeenStatistics::Receive(std::span<const float> seen, ShardWorker* worker) {
  if (arrived_.size() != count_) arrived_ = AlignedFloats(count_);
  std::copy(seen.begin(), seen.end(), arrived_.begin());
  if (!AllFinite(arrived_)) return false;
  std::swap(worker->statistics, arrived_);
  MarkOld();
  return true;
}

void SeenStatistics::SumInto(const ShardWorkers& workers, std::span<float> sum) const {
  if (count_ == 0) return;
  std::vector<const ShardWorker*> in_order;
  for (const auto& [id, worker] : workers)
    if (worker.statistics.size() == count_) in_order.push_back(&worker);
  std::stable_sort(
      in_order.begin(), in_order.end(),
      [](const ShardWorker* a, const ShardWorker* b) { return a->number < b->number; });
  std::vector<std::span<const float>> seen;
  for (const ShardWorker* worker : in_order) seen.emplace_back(worker->statistics);
  const auto parts = [&](std::size_t begin, std::size_t count) {
    std::vector<std::span<const float>> cut;
    for (const auto& one : seen) cut.push_back(one.subspan(begin, count));
    return cut;
  };
  const std::size_t observations = layout_.statistics.count;
  SumObservations(layout_, parts(0, observations), sum.first(observations));
  if (count_ > observations)
    WriteMoments(SumMoments(parts(observations, kMomentFloats)), sum.subspan(observations));
}

}  // namespace murmurate
