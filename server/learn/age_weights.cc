#include "server/learn/age_weights.h"

#include <algorithm>

namespace murmurate {
namespace {

void Drop(TrainingBatch& batch, std::size_t slot, LearnReport* report) {
  std::ranges::fill(batch.weight.subspan(slot * batch.length, batch.length), 0.0f);
  ++report->stale_trajectories;
  report->late_steps += static_cast<std::uint64_t>(batch.trajectories[slot].steps);
}

}  // namespace

void WeighByAge(std::uint64_t version, int max_staleness, TrainingBatch& batch,
                LearnReport* report) {
  double sum = 0.0;
  int counted = 0;
  for (std::size_t slot = 0; slot < batch.trajectories.size(); ++slot) {
    const BatchTrajectory& trajectory = batch.trajectories[slot];
    if (trajectory.steps == 0) continue;
    if (trajectory.version > version) {  // of another life of this model: its age means nothing
      Drop(batch, slot, report);
      continue;
    }
    const std::uint64_t age = version - trajectory.version;
    report->staleness_min = counted == 0 ? age : std::min<double>(report->staleness_min, age);
    report->staleness_max = std::max<double>(report->staleness_max, age);
    sum += static_cast<double>(age);
    ++counted;
    if (age > static_cast<std::uint64_t>(max_staleness)) Drop(batch, slot, report);
  }
  if (counted > 0) report->staleness_mean = sum / counted;
}

}  // namespace murmurate
