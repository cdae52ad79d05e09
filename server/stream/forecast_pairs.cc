// What Forecaster gives to be learned, and what it saves.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "server/stream/forecaster.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr float kMostErrors = 10.0f;  ///< a label lies at most so many usual errors away

}  // namespace

/// The row that just came completes the pairs of those that lie a horizon before it.
void Forecaster::CountPairs(const std::shared_ptr<Device>& device) {
  if (!settings_.learn) return;
  for (int j = 0; j < shape_.horizons; ++j) {
    const auto at = static_cast<std::size_t>(j);
    if (device->rows <= static_cast<std::uint64_t>(settings_.horizons[at])) break;  // they ascend
    const bool farthest = j + 1 == shape_.horizons;
    if (farthest) ++totals_.complete;
    if (device->Open(j) < static_cast<std::uint32_t>(shape_.most_open[at]))
      ++device->Open(j);
    else if (farthest)
      ++totals_.unlearned;  // the oldest has left the window
    StandInLine(device);
  }
}

void Forecaster::StandInLine(const std::shared_ptr<Device>& device) {
  if (device->in_line) return;
  device->in_line = true;
  line_.push_back(device);
}

/// Whether the pair of `row` at the j-th horizon is complete and has not been learned.
bool Forecaster::IsOpen(Device* device, std::uint64_t row, int j) const {
  if (settings_.late_labels()) return true;
  const auto horizon = static_cast<std::uint64_t>(settings_.horizons[static_cast<std::size_t>(j)]);
  return row + horizon < device->rows && row + horizon + device->Open(j) >= device->rows;
}

/// What is to be learned of `row` at a group's horizons; NaN where nothing is. False: nothing at
/// all.
bool Forecaster::PutLabel(Device* device, std::uint64_t row, const HorizonGroup& group,
                          std::int32_t* words) const {
  const int each = shape_.outputs / shape_.scores;
  std::fill_n(words, shape_.outputs,
              std::bit_cast<std::int32_t>(std::numeric_limits<float>::quiet_NaN()));
  bool any = false;
  for (int target = 0; target < shape_.targets; ++target)
    for (int j = group.begin; j < group.end; ++j) {
      if (!IsOpen(device, row, j)) continue;
      const auto horizon =
          static_cast<std::uint64_t>(settings_.horizons[static_cast<std::size_t>(j)]);
      const int i = target * shape_.horizons + j;
      const double change = device->Target(row + horizon, target) - device->Last(row, target);
      const auto away = static_cast<float>(change / device->UsualError(i));
      if (std::isnan(away)) continue;
      words[i * each] = std::bit_cast<std::int32_t>(std::clamp(away, -kMostErrors, kMostErrors));
      any = true;
    }
  return any;
}

bool Forecaster::Fill(TrainingBatch* batch) {
  MURMURATE_CHECK(batch->trajectories.empty(), "an empty batch is filled");
  if (settings_.late_labels()) return FillLate(batch);
  std::vector<Given> given;
  while (!line_.empty() && !batch->full()) {
    const std::shared_ptr<Device> device = line_.front();
    line_.pop_front();
    device->in_line = false;
    for (const HorizonGroup& group : shape_.groups) {
      if (batch->full()) break;
      if (recurrent_)
        GiveSequence(device, group, batch, &given);
      else
        GivePairs(device, group, batch, &given);
    }
    if (!device->HasOpen()) continue;
    device->in_line = true;
    line_.push_front(device);
  }
  if (given.empty()) return false;
  given_.push_back(std::move(given));
  return true;
}

/// All that is open of a group, in one sequence.
void Forecaster::GiveSequence(const std::shared_ptr<Device>& device, const HorizonGroup& group,
                              TrainingBatch* batch, std::vector<Given>* given) {
  bool any = false;
  for (int j = group.begin; j < group.end; ++j) any |= device->Open(j) > 0;
  if (!any) return;
  PutSequence(device.get(), group, device->rows - static_cast<std::uint64_t>(group.nearest), 0,
              batch);
  for (int j = group.begin; j < group.end; ++j)
    given->push_back({device, std::exchange(device->Open(j), 0u), 0, j});
}

/// As many as there is room for.
void Forecaster::GivePairs(const std::shared_ptr<Device>& device, const HorizonGroup& group,
                           TrainingBatch* batch, std::vector<Given>* given) {
  std::uint32_t& open = device->Open(group.begin);
  const int room = batch->capacity - static_cast<int>(batch->trajectories.size());
  const auto pairs = std::min(open, static_cast<std::uint32_t>(room));
  if (pairs == 0) return;
  const std::uint64_t first = device->rows - static_cast<std::uint64_t>(group.nearest) - open;
  for (std::uint32_t i = 0; i < pairs; ++i) PutPair(device.get(), first + i, group, batch);
  open -= pairs;
  given->push_back({device, pairs, 0, group.begin});
}

/// The window that ends before row `end`, of which rows from `from` on may be learned.
void Forecaster::PutSequence(Device* device, const HorizonGroup& group, std::uint64_t end,
                             std::uint64_t from, TrainingBatch* batch) const {
  const auto steps = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(end, static_cast<std::uint64_t>(shape_.window)));
  const std::size_t place = batch->trajectories.size();
  const std::size_t first = place * static_cast<std::size_t>(batch->length);
  const std::size_t words = static_cast<std::size_t>(batch->layout.action.words());
  for (std::uint32_t i = 0; i < steps; ++i) {
    const std::uint64_t row = end - steps + i;
    std::ranges::copy(device->Row(row),
                      batch->observation.data() + (first + i) * batch->layout.row_words());
    std::int32_t* const label = batch->action.data() + (first + i) * words;
    const bool learns = row >= from && PutLabel(device, row, group, label);
    if (!learns) std::fill_n(label, words, 0);
    batch->log_prob[first + i] = batch->reward[first + i] = 0.0f;
    batch->flags[first + i] = 0;
    batch->weight[first + i] = learns ? 1.0f : 0.0f;
  }
  float* const state = batch->state0.data() + place * static_cast<std::size_t>(shape_.state);
  if (settings_.per_device_state) {
    std::ranges::copy(device->Tail(static_cast<std::size_t>(&group - shape_.groups.data())), state);
  } else {
    std::fill_n(state, shape_.state, 0.0f);
  }
  batch->trajectories.push_back({.agent = static_cast<std::uint32_t>(place),
                                 .first_step = end - steps,
                                 .version = version_,
                                 .steps = static_cast<int>(steps)});
}

void Forecaster::PutPair(Device* device, std::uint64_t row, const HorizonGroup& group,
                         TrainingBatch* batch) const {
  const std::size_t place = batch->trajectories.size();
  const std::size_t words = static_cast<std::size_t>(batch->layout.action.words());
  PutWindow(device, row, batch->observation.data() + place * batch->layout.row_words());
  const bool learns = PutLabel(device, row, group, batch->action.data() + place * words);
  batch->log_prob[place] = batch->reward[place] = 0.0f;
  batch->flags[place] = kFirst;
  batch->weight[place] = learns ? 1.0f : 0.0f;
  batch->trajectories.push_back({.agent = static_cast<std::uint32_t>(place),
                                 .first_step = row,
                                 .version = version_,
                                 .steps = 1});
}

std::uint64_t Forecaster::OnTrained() {
  MURMURATE_CHECK(!given_.empty(), "a batch was given before it was trained on");
  std::uint64_t pairs = 0;
  for (const Given& given : given_.front()) {
    if (given.horizon + 1 == shape_.horizons) pairs += given.pairs;
    Device* const device = given.device.get();
    if (settings_.late_labels() && device->labels.Keeps(given.row, device->rows))
      device->labels.Set(given.row, LabelSlots::State::kDone);
  }
  given_.pop_front();
  totals_.learned += pairs;
  return pairs;
}

}  // namespace murmurate
