#include "server/parameters/worker_statistics.h"

#include <algorithm>

#include "server/parameters/observation_sum.h"

namespace murmurate {

WorkerStatistics::WorkerStatistics(const ParameterLayout& layout) : layout_(layout) {
  if (layout.statistics.count == 0) return;
  own_ = AlignedFloats(layout.total);
  seen_ = AlignedFloats(layout.statistics.count);
}

std::span<const float> WorkerStatistics::OwnStatistics() const {
  return {own_.data() + layout_.statistics.offset, layout_.statistics.count};
}

void WorkerStatistics::Begin(std::span<const float> parameters) {
  if (own_.size() == 0) return;
  const auto from = parameters.subspan(layout_.statistics.offset, layout_.statistics.count);
  std::copy(from.begin(), from.end(), own_.data() + layout_.statistics.offset);
}

void WorkerStatistics::ForgetOwn() {
  if (own_.size() > 0)
    SumObservations(layout_, {}, std::span(own_).subspan(layout_.statistics.offset));
}

void WorkerStatistics::WriteSeen(std::span<float> parameters) const {
  std::copy(seen_.begin(), seen_.end(),
            parameters.begin() + static_cast<std::ptrdiff_t>(layout_.statistics.offset));
}

void WorkerStatistics::Put(std::span<float> to) const {
  if (to.empty()) return;
  const std::size_t count = layout_.statistics.count;
  if (count > 0) std::ranges::copy(OwnStatistics(), to.begin());
  if (to.size() > count) WriteMoments(own_returns_, to.subspan(count));
}

void WorkerStatistics::Receive(std::span<const float> from) {
  if (from.empty()) return;
  const std::size_t count = layout_.statistics.count;
  std::copy_n(from.begin(), count, seen_.begin());
  if (from.size() > count) all_returns_ = ReadMoments(from.subspan(count));
}

void WorkerStatistics::Save(const StateWriter& writer) const {
  if (own_.size() > 0) writer.Floats("seen", OwnStatistics());
}

}  // namespace murmurate
