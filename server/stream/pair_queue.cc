#include "server/stream/pair_queue.h"

#include <algorithm>

#include "server/stream/batch_pairs.h"
#include "server/stream/own_labels.h"
#include "shared/core/check.h"

namespace murmurate {

void PairQueue::AddRow(const DevicePointer& device) {
  if (!settings_.learn) return;
  if (settings_.own_labels()) return AddOwnRow(device);
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

/// A row without a label has its place among the open ones, but no pair waits for it.
void PairQueue::AddOwnRow(const DevicePointer& device) {
  const std::uint64_t row = device->rows - 1;
  std::uint32_t& open = device->open.farthest();
  if (open < static_cast<std::uint32_t>(device->shape.most_open[0]))
    ++open;
  else  // the oldest has left the window
    counts_.unlearned += CountLabelled(device.get(), row - open, row - open + 1);
  if (CountLabelled(device.get(), row, row + 1) == 0) return;
  ++counts_.complete;
  StandInLine(device);
}

/// The open pairs of the farthest horizon that can be learned.
std::uint32_t PairQueue::CountOpen(StreamDevice* device) const {
  const std::uint32_t open = device->open.farthest();
  return settings_.own_labels() ? CountLabelled(device, device->rows - open, device->rows) : open;
}

bool PairQueue::Waits(StreamDevice* device) const {
  return settings_.own_labels() ? CountOpen(device) > 0 : device->open.Any();
}

void PairQueue::AwaitLabel(StreamDevice* device, std::uint64_t id) {
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

void PairQueue::Drop(StreamDevice* device) {
  counts_.unlearned += CountOpen(device);
  device->open.Clear();
}

void PairQueue::GoOn(const DevicePointer& device) {
  if (settings_.learn && Waits(device.get())) StandInLine(device);
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
    if (!Waits(device.get())) continue;
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
  const std::uint32_t learns = CountOpen(device.get());
  if (!any || (settings_.own_labels() && learns == 0)) return;
  PutSequence(settings_, group, device->rows - static_cast<std::uint64_t>(group.nearest), 0,
              version, device.get(), batch);
  for (int j = group.begin; j < group.end; ++j)
    given->push_back({device, std::exchange(device->open[j], 0u), 0, j, learns});
}

/// Gives the open pairs of one group, as many as the batch has room for.
void PairQueue::GivePairs(const DevicePointer& device, const HorizonGroup& group,
                          std::uint64_t version, TrainingBatch* batch,
                          std::vector<Given>* given) const {
  std::uint32_t& open = device->open[group.begin];
  const int room = batch->capacity - static_cast<int>(batch->trajectories.size());
  const std::uint64_t first = device->rows - static_cast<std::uint64_t>(group.nearest) - open;
  std::uint32_t pairs = 0, learns = 0;
  for (; pairs < open && learns < static_cast<std::uint32_t>(room); ++pairs) {
    const std::uint64_t row = first + pairs;
    if (settings_.own_labels() && CountLabelled(device.get(), row, row + 1) == 0) continue;
    PutPair(settings_, group, row, version, device.get(), batch);
    ++learns;
  }
  if (learns == 0) return;
  open -= pairs;
  given->push_back({device, pairs, 0, group.begin, learns});
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
      given->push_back({device, 1, row, 0, 1});
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
    StreamDevice* const device = given.device.get();
    if (given.horizon + 1 == device->shape.horizons) pairs += given.learns;
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
