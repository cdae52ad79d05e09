#include "server/stream/pair_queue.h"

#include <algorithm>

#include "server/stream/batch_pairs.h"
#include "shared/core/check.h"

namespace murmurate {

void PairQueue::AddRow(const DevicePointer& device) {
  if (!settings_.learn) return;
  const DeviceShape& shape = device->shape;
  for (int j = 0; j < shape.horizons; ++j) {
    const auto at = static_cast<std::size_t>(j);
    if (device->rows <= static_cast<std::uint64_t>(shape.ahead[at])) break;  // they ascend
    const bool farthest = j + 1 == shape.horizons;
    if (farthest) ++counts_.complete;
    if (device->open[j] < static_cast<std::uint32_t>(shape.most_open[at]))
      ++device->open[j];
    else if (farthest)
      ++counts_.unlearned;  // the oldest has left the window
    StandInLine(device);
  }
}

void PairQueue::AwaitLabel(Device* device, std::uint64_t id) {
  if (device->labels.Begin(device->rows - 1, id) != LabelSlots::State::kWaiting) return;
  --device->open.farthest();
  ++counts_.unlearned;
}

void PairQueue::AddLabel(const DevicePointer& device, std::uint64_t row) {
  device->labels.Set(row, settings_.learn ? LabelSlots::State::kWaiting : LabelSlots::State::kDone);
  if (!settings_.learn) return;
  ++counts_.complete;
  ++device->open.farthest();
  StandInLine(device);
}

void PairQueue::Drop(Device* device) {
  counts_.unlearned += device->open.farthest();
  device->open.Clear();
}

void PairQueue::GoOn(const DevicePointer& device) {
  if (settings_.learn && device->open.Any()) StandInLine(device);
}

void PairQueue::StandInLine(const DevicePointer& device) {
  if (device->in_line) return;
  device->in_line = true;
  line_.push_back(device);
}

bool PairQueue::Fill(std::uint64_t version, TrainingBatch* batch) {
  MURMURATE_CHECK(batch->trajectories.empty(), "an empty batch is filled");
  std::vector<Given> given;
  if (settings_.late_labels())
    GiveLabels(version, batch, &given);
  else
    GiveOpen(version, batch, &given);
  if (given.empty()) return false;
  given_.push_back(std::move(given));
  return true;
}

void PairQueue::GiveOpen(std::uint64_t version, TrainingBatch* batch, std::vector<Given>* given) {
  while (!line_.empty() && !batch->full()) {
    const DevicePointer device = line_.front();
    line_.pop_front();
    device->in_line = false;
    for (const HorizonGroup& group : device->shape.groups) {
      if (batch->full()) break;
      if (device->shape.state > 0)
        GiveSequence(device, group, version, batch, given);
      else
        GivePairs(device, group, version, batch, given);
    }
    if (!device->open.Any()) continue;
    device->in_line = true;
    line_.push_front(device);
  }
}

/// Gives all that is open of a group, in one sequence.
void PairQueue::GiveSequence(const DevicePointer& device, const HorizonGroup& group,
                             std::uint64_t version, TrainingBatch* batch,
                             std::vector<Given>* given) const {
  bool any = false;
  for (int j = group.begin; j < group.end; ++j) any |= device->open[j] > 0;
  if (!any) return;
  PutSequence(settings_, group, device->rows - static_cast<std::uint64_t>(group.nearest), 0,
              version, device.get(), batch);
  for (int j = group.begin; j < group.end; ++j)
    given->push_back({device, std::exchange(device->open[j], 0u), 0, j});
}

/// Gives the open pairs of one group, as many as the batch has room for.
void PairQueue::GivePairs(const DevicePointer& device, const HorizonGroup& group,
                          std::uint64_t version, TrainingBatch* batch,
                          std::vector<Given>* given) const {
  std::uint32_t& open = device->open[group.begin];
  const int room = batch->capacity - static_cast<int>(batch->trajectories.size());
  const auto pairs = std::min(open, static_cast<std::uint32_t>(room));
  if (pairs == 0) return;
  const std::uint64_t first = device->rows - static_cast<std::uint64_t>(group.nearest) - open;
  for (std::uint32_t i = 0; i < pairs; ++i)
    PutPair(settings_, group, first + i, version, device.get(), batch);
  open -= pairs;
  given->push_back({device, pairs, 0, group.begin});
}

/// Gives the window of each label's row; only the label in its last row is learned.
void PairQueue::GiveLabels(std::uint64_t version, TrainingBatch* batch, std::vector<Given>* given) {
  while (!line_.empty() && !batch->full()) {
    const DevicePointer device = line_.front();
    const HorizonGroup& group = device->shape.groups[0];
    std::uint32_t& open = device->open.farthest();
    for (; open > 0 && !batch->full(); --open) {
      const std::uint64_t row = device->labels.OldestWaiting(device->rows);
      if (device->shape.state > 0)
        PutSequence(settings_, group, row + 1, row, version, device.get(), batch);
      else
        PutPair(settings_, group, row, version, device.get(), batch);
      device->labels.Set(row, LabelSlots::State::kGiven);
      given->push_back({device, 1, row, 0});
    }
    if (open > 0) break;
    device->in_line = false;
    line_.pop_front();
  }
}

std::uint64_t PairQueue::OnTrained() {
  MURMURATE_CHECK(!given_.empty(), "a batch was given before it was trained on");
  std::uint64_t pairs = 0;
  for (const Given& given : given_.front()) {
    Device* const device = given.device.get();
    if (given.horizon + 1 == device->shape.horizons) pairs += given.pairs;
    if (settings_.late_labels() && device->labels.Keeps(given.row, device->rows))
      device->labels.Set(given.row, LabelSlots::State::kDone);
  }
  given_.pop_front();
  counts_.learned += pairs;
  return pairs;
}

void PairQueue::AddGiven(Unlearned* pairs) const {
  for (const auto& batch : given_)
    for (const Given& one : batch) (*pairs)[{one.device.get(), one.horizon}] += one.pairs;
}

}  // namespace murmurate
