#include "server/learn/window_return.h"

#include <algorithm>

namespace murmurate {

WindowReturn ReturnOf(const TrainingBatch& batch, std::int32_t row, int n, double gamma) {
  const std::int32_t slot = row / batch.length;
  const std::int32_t end = slot * batch.length + batch.trajectories[slot].steps;
  WindowReturn result;
  double discount = 1.0;
  for (std::int32_t at = row; at < std::min(end, row + n); ++at) {
    result.reward += discount * double{batch.reward[at]};
    discount *= gamma;
    if ((batch.flags[at] & kTerminatedFlag) != 0) return result;
    result.end = {.row = at, .successor = batch.NextRow(static_cast<std::size_t>(slot))};
    if ((batch.flags[at] & kTruncatedFlag) == 0) continue;
    const auto final = std::ranges::lower_bound(batch.final_row, at) - batch.final_row.begin();
    result.end.successor = batch.FinalRow(static_cast<std::size_t>(final));
    result.discount = static_cast<float>(discount);
    return result;
  }
  if (row + n < end) result.end = {.row = row + n};
  result.discount = static_cast<float>(discount);
  return result;
}

}  // namespace murmurate
