#include "server/learn/window_return.h"

#include <algorithm>

namespace murmurate {

WindowReturn ReturnOf(const TrainingBatch& batch, std::int32_t row, int n, double gamma) {
  const std::int32_t slot = row / batch.length;
  const std::int32_t end = slot * batch.length + batch.trajectories[slot].steps;
  const std::int32_t last = std::min(end, row + n);
  double reward = 0.0, discount = 1.0;
  bool truncated = false;
  std::int32_t at = row;
  for (; at < last && !truncated; ++at) {
    reward += discount * double{batch.reward[at]};
    discount *= gamma;
    if ((batch.flags[at] & kTerminatedFlag) != 0) return {.reward = reward};
    truncated = (batch.flags[at] & kTruncatedFlag) != 0;
  }
  SeenRow after{.row = at - 1};
  if (truncated) {
    const auto final = std::ranges::lower_bound(batch.final_row, at - 1) - batch.final_row.begin();
    after.successor = batch.FinalRow(static_cast<std::size_t>(final));
  } else if (at == end) {
    after.successor = batch.NextRow(static_cast<std::size_t>(slot));
  } else {
    after.row = at;
  }
  return {.reward = reward, .discount = static_cast<float>(discount), .end = after};
}

}  // namespace murmurate
