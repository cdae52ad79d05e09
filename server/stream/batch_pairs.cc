#include "server/stream/batch_pairs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace murmurate {
namespace {

constexpr float kMostErrors = 10.0f;  ///< a label lies at most so many usual errors away

/// True: the pair of `row` at the j-th horizon is complete and has not been learned.
bool IsOpen(const ForecastSettings& settings, StreamDevice* device, std::uint64_t row, int j) {
  if (settings.late_labels()) return true;
  const auto horizon = static_cast<std::uint64_t>(settings.horizons[static_cast<std::size_t>(j)]);
  return row + horizon < device->rows && row + horizon + device->open[j] >= device->rows;
}

/// Writes what is to be learned of `row` at a group's horizons; NaN where nothing is. False:
/// nothing at all.
bool PutLabel(const ForecastSettings& settings, const HorizonGroup& group, std::uint64_t row,
              StreamDevice* device, std::int32_t* words) {
  const DeviceShape& shape = device->shape;
  const int each = shape.outputs / shape.scores;
  std::fill_n(words, shape.outputs,
              std::bit_cast<std::int32_t>(std::numeric_limits<float>::quiet_NaN()));
  bool any = false;
  for (int target = 0; target < shape.targets; ++target)
    for (int j = group.begin; j < group.end; ++j) {
      if (!IsOpen(settings, device, row, j)) continue;
      const auto horizon =
          static_cast<std::uint64_t>(settings.horizons[static_cast<std::size_t>(j)]);
      const int i = target * shape.horizons + j;
      const double change = device->Target(row + horizon, target) - device->Last(row, target);
      const auto away = static_cast<float>(change / device->TypicalError(i));
      if (std::isnan(away)) continue;
      words[i * each] = std::bit_cast<std::int32_t>(std::clamp(away, -kMostErrors, kMostErrors));
      any = true;
    }
  return any;
}

}  // namespace

void PutSequence(const ForecastSettings& settings, const HorizonGroup& group, std::uint64_t end,
                 std::uint64_t from, std::uint64_t version, StreamDevice* device,
                 TrainingBatch* batch) {
  const DeviceShape& shape = device->shape;
  const auto steps = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(end, static_cast<std::uint64_t>(shape.window)));
  const std::size_t slot = batch->trajectories.size();
  const std::size_t first = slot * static_cast<std::size_t>(batch->length);
  const std::size_t words = static_cast<std::size_t>(batch->layout.action.words());
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::uint64_t row = end - steps + i;
    std::ranges::copy(device->Row(row),
                      batch->observation.data() + (first + i) * batch->layout.row_words());
    std::int32_t* const label = batch->action.data() + (first + i) * words;
    const bool learns = row >= from && PutLabel(settings, group, row, device, label);
    if (!learns) std::fill_n(label, words, 0);
    batch->log_prob[first + i] = batch->reward[first + i] = 0.0f;
    batch->flags[first + i] = 0;
    batch->weight[first + i] = learns ? 1.0f : 0.0f;
  }
  float* const state = batch->state0.data() + slot * static_cast<std::size_t>(shape.state);
  if (settings.per_device_state) {
    std::ranges::copy(device->Tail(static_cast<std::size_t>(&group - shape.groups.data())), state);
  } else {
    std::fill_n(state, shape.state, 0.0f);
  }
  batch->trajectories.push_back({.agent = static_cast<std::uint32_t>(slot),
                                 .first_step = end - steps,
                                 .version = version,
                                 .steps = static_cast<int>(steps)});
}

void PutPair(const ForecastSettings& settings, const HorizonGroup& group, std::uint64_t row,
             std::uint64_t version, StreamDevice* device, TrainingBatch* batch) {
  const std::size_t slot = batch->trajectories.size();
  const std::size_t words = static_cast<std::size_t>(batch->layout.action.words());
  device->CopyWindow(row, batch->observation.data() + slot * batch->layout.row_words());
  const bool learns = PutLabel(settings, group, row, device, batch->action.data() + slot * words);
  batch->log_prob[slot] = batch->reward[slot] = 0.0f;
  batch->flags[slot] = kFirst;
  batch->weight[slot] = learns ? 1.0f : 0.0f;
  batch->trajectories.push_back({.agent = static_cast<std::uint32_t>(slot),
                                 .first_step = row,
                                 .version = version,
                                 .steps = 1});
}

}  // namespace murmurate
