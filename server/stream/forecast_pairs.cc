// What Forecaster gives to be learned, and what it saves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "server/stream/forecaster.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr float kMostErrors = 10.0f;  ///< a label lies at most so many usual errors away

}  // namespace

/// The row that just came completes the pair of the one `last_horizon` before it.
void Forecaster::CountPair(const std::shared_ptr<Device>& device) {
  const auto last = static_cast<std::uint64_t>(shape_.last_horizon);
  if (!settings_.learn || device->rows <= last) return;
  ++totals_.complete;
  if (device->open == static_cast<std::uint32_t>(shape_.most_open)) {
    ++totals_.unlearned;  // the oldest has left the window
  } else {
    ++device->open;
  }
  StandInLine(device);
}

void Forecaster::StandInLine(const std::shared_ptr<Device>& device) {
  if (device->in_line) return;
  device->in_line = true;
  line_.push_back(device);
}

/// Whether all that `row` should have forecast is known.
bool Forecaster::Labelled(Device* device, std::uint64_t row) const {
  for (int target = 0; target < shape_.targets; ++target)
    for (const int horizon : settings_.horizons)
      if (!std::isfinite(device->Target(row + static_cast<std::uint64_t>(horizon), target)) ||
          !std::isfinite(device->Naive(row, target, horizon, settings_.season)))
        return false;
  return true;
}

void Forecaster::PutLabel(Device* device, std::uint64_t row, std::int32_t* words) const {
  const int each = shape_.outputs / shape_.scores;
  for (int i = 0; i < shape_.scores; ++i) {
    const int target = i / shape_.horizons;
    const int horizon = settings_.horizons[static_cast<std::size_t>(i % shape_.horizons)];
    const double actual = device->Target(row + static_cast<std::uint64_t>(horizon), target);
    const double naive = device->Naive(row, target, horizon, settings_.season);
    const auto away = static_cast<float>((actual - naive) / device->UsualError(i));
    const float label = std::isfinite(away) ? std::clamp(away, -kMostErrors, kMostErrors) : 0.0f;
    std::fill_n(words + i * each, each, std::bit_cast<std::int32_t>(label));
  }
}

bool Forecaster::Fill(TrainingBatch* batch) {
  MURMURATE_CHECK(batch->trajectories.empty(), "an empty batch is filled");
  if (settings_.late_labels()) return FillLate(batch);
  std::vector<Given> given;
  while (!line_.empty() && !batch->full()) {
    const std::shared_ptr<Device> device = line_.front();
    line_.pop_front();
    device->in_line = false;
    const int room = batch->capacity - static_cast<int>(batch->trajectories.size());
    const std::uint32_t pairs =
        recurrent_ ? device->open : std::min(device->open, static_cast<std::uint32_t>(room));
    if (pairs == 0) continue;  // it began again
    const std::uint64_t end = device->rows - static_cast<std::uint64_t>(shape_.last_horizon);
    if (recurrent_) {
      PutSequence(device.get(), end, pairs, batch);
    } else {
      const std::uint64_t first = end - device->open;
      for (std::uint32_t i = 0; i < pairs; ++i) PutPair(device.get(), first + i, batch);
    }
    device->open -= pairs;
    given.push_back({device, pairs, 0});
    if (device->open > 0) {
      device->in_line = true;
      line_.push_front(device);
    }
  }
  if (given.empty()) return false;
  given_.push_back(std::move(given));
  return true;
}

/// The window that ends before row `end`, of which the last `pairs` rows have not been learned.
void Forecaster::PutSequence(Device* device, std::uint64_t end, std::uint32_t pairs,
                             TrainingBatch* batch) const {
  const auto steps = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(end, static_cast<std::uint64_t>(shape_.window)));
  const std::size_t place = batch->trajectories.size();
  const std::size_t first = place * static_cast<std::size_t>(batch->length);
  const std::size_t words = static_cast<std::size_t>(batch->layout.action.words());
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::uint64_t row = end - steps + i;
    const bool learns = i + pairs >= steps && Labelled(device, row);
    std::ranges::copy(device->Row(row),
                      batch->observation.data() + (first + i) * batch->layout.row_words());
    std::int32_t* const label = batch->action.data() + (first + i) * words;
    if (learns) PutLabel(device, row, label);
    if (!learns) std::fill_n(label, words, 0);
    batch->log_prob[first + i] = batch->reward[first + i] = 0.0f;
    batch->flags[first + i] = 0;
    batch->weight[first + i] = learns ? 1.0f : 0.0f;
  }
  float* const state = batch->state0.data() + place * static_cast<std::size_t>(shape_.state);
  if (settings_.per_device_state) {
    std::ranges::copy(device->tail(), state);
  } else {
    std::fill_n(state, shape_.state, 0.0f);
  }
  batch->trajectories.push_back({.agent = static_cast<std::uint32_t>(place),
                                 .first_step = end - steps,
                                 .version = version_,
                                 .steps = static_cast<int>(steps)});
}

void Forecaster::PutPair(Device* device, std::uint64_t row, TrainingBatch* batch) const {
  const std::size_t place = batch->trajectories.size();
  const std::size_t words = static_cast<std::size_t>(batch->layout.action.words());
  PutWindow(device, row, batch->observation.data() + place * batch->layout.row_words());
  PutLabel(device, row, batch->action.data() + place * words);
  batch->log_prob[place] = batch->reward[place] = 0.0f;
  batch->flags[place] = kFirst;
  batch->weight[place] = Labelled(device, row) ? 1.0f : 0.0f;
  batch->trajectories.push_back({.agent = static_cast<std::uint32_t>(place),
                                 .first_step = row,
                                 .version = version_,
                                 .steps = 1});
}

std::uint64_t Forecaster::OnTrained() {
  MURMURATE_CHECK(!given_.empty(), "a batch was given before it was trained on");
  std::uint64_t pairs = 0;
  for (const Given& given : given_.front()) {
    pairs += given.pairs;
    Device* const device = given.device.get();
    if (settings_.late_labels() && device->labels.Keeps(given.row, device->rows))
      device->labels.Set(given.row, LabelSlots::State::kDone);
  }
  given_.pop_front();
  totals_.learned += pairs;
  return pairs;
}

}  // namespace murmurate
