#include "server/learn/lanes.h"

#include <algorithm>

namespace murmurate {

Lanes::Lanes(int lanes, int longest, int state_floats)
    : states_(static_cast<std::size_t>(state_floats)),
      lane_(static_cast<std::size_t>(lanes)),
      state_(lane_.size() * states_),
      state_after_(state_.size()) {
  for (auto& lane : lane_) lane.reserve(static_cast<std::size_t>(longest));
  first_.reserve(lane_.size() * static_cast<std::size_t>(longest));
}

void Lanes::LayOne(const TrainingBatch& batch, int slot, float weight, int from, int to,
                   bool successors, std::vector<SeenRow>* lane) const {
  lane->clear();
  const std::int32_t first = slot * batch.length;
  const int end = std::min(to, batch.trajectories[slot].steps);
  for (int step = from; step < end; ++step)
    lane->push_back({.row = first + step, .weight = weight});
  if (!successors) return;
  ForSuccessors(batch, slot, [&](const SeenRow& successor) {
    if (successor.row < first + from || successor.row >= first + end) return;
    const auto behind = std::find_if(lane->begin(), lane->end(), [&](const SeenRow& other) {
      return other.row > successor.row;
    });
    lane->insert(behind, successor);
  });
}

void Lanes::Lay(const TrainingBatch& batch, std::span<const int> slots,
                std::span<const float> weights, int from, int to, bool successors,
                std::vector<SeenRow>* rows) {
  const std::size_t count = slots.size();
  const auto came_with = static_cast<std::size_t>(batch.layout.state_floats);
  std::size_t steps = 0;
  for (std::size_t i = 0; i < count; ++i) {
    LayOne(batch, slots[i], weights.empty() ? 1.0f : weights[i], from, to, successors, &lane_[i]);
    steps = std::max(steps, lane_[i].size());
    std::copy_n(batch.state0.data() + slots[i] * came_with, states_, state_.data() + i * states_);
  }
  rows->assign(steps * count, SeenRow{});
  first_.assign(rows->size(), 0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t step = 0; step < lane_[i].size(); ++step) {
      const SeenRow& seen = (*rows)[step * count + i] = lane_[i][step];
      const bool begins = seen.successor == nullptr && (batch.flags[seen.row] & kFirst) != 0;
      first_[step * count + i] = begins;
    }
  }
  sequences_ = {static_cast<int>(steps), static_cast<int>(count), first_.data(), state_.data(),
                nullptr};
}

const Sequences& Lanes::SequencesKeepingState() {
  sequences_.state_out = state_after_.data();
  return sequences_;
}

}  // namespace murmurate
