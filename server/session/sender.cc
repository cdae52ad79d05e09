#include "server/session/sender.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace murmurate::wire {

void Share::SetSlots(std::vector<AgentSlot> slots) {
  slots_ = std::move(slots);
  ++slot_changes_;
  by_number_.resize(slots_.size());
  std::iota(by_number_.begin(), by_number_.end(), 0u);
  std::ranges::sort(by_number_, {}, [this](std::uint32_t place) { return slots_[place].number; });
  slot_steps_ = 0;
  for (const AgentSlot& slot : slots_) slot_steps_ += slot.last_steps - slot.first_steps;
}

const AgentSlot* Share::Find(std::uint32_t number) const {
  const auto found = std::ranges::lower_bound(
      by_number_, number, {}, [this](std::uint32_t place) { return slots_[place].number; });
  if (found == by_number_.end() || slots_[*found].number != number) return nullptr;
  return &slots_[*found];
}

void Share::CountSteps(const AgentSlot& slot, std::uint64_t agent_steps, std::uint64_t steps) {
  AgentSlot& counted = slots_[static_cast<std::size_t>(&slot - slots_.data())];
  if (!counted.heard) {
    counted.heard = true;
    counted.first_steps = counted.last_steps = agent_steps - std::min(agent_steps, steps);
  }
  const std::uint64_t last = std::max(counted.last_steps, agent_steps);
  slot_steps_ += last - counted.last_steps;
  counted.last_steps = last;
}

Share* Sender::ShareOf(std::uint32_t model) {
  return model < models.size() ? &shares.at(models[model]) : nullptr;
}

Share* Sender::ShareOfModel(std::uint32_t number) {
  return std::ranges::find(models, number) == models.end() ? nullptr : &shares.at(number);
}

int Sender::agents() const {
  std::size_t count = 0;
  for (const auto& [model, share] : shares) count += share.slots().size();
  return static_cast<int>(count);
}

/// A lock-step run must not depend on when a PING came.
std::uint64_t Sender::Steps(const Share& share) const {
  const std::uint64_t steps = share.trajectory_steps();
  return pace == Pace::kLockstep ? steps : std::max(steps, share.pinged_steps);
}

void Sender::AddTo(ServerSession::ActorReport* report) const {
  report->trajectories += trajectories;
  report->refused += refused;
  for (const auto& [model, share] : shares) {
    report->steps += Steps(share);
    report->dropped_steps += share.pinged_dropped;
    report->waited_ns += share.wait.waited_ns;
    report->played_ns += share.wait.played_ns;
  }
  report->staleness.Add(staleness);
}

std::uint64_t Sender::acknowledged_through() const {
  return unacknowledged.empty() ? acknowledged
                                : std::min(acknowledged, unacknowledged.begin()->first - 1);
}

void AgentIndices::Know(std::uint32_t index) {
  if (index >= used_.size()) used_.resize(index + 1, false);
}

std::uint32_t AgentIndices::Acquire() {
  while (first_free_ < used_.size() && used_[first_free_]) ++first_free_;
  if (first_free_ == used_.size()) used_.push_back(false);
  used_[first_free_] = true;
  return static_cast<std::uint32_t>(first_free_++);
}

std::uint32_t AgentIndices::Reacquire(std::uint32_t index) {
  if (index >= used_.size() || used_[index]) return Acquire();
  used_[index] = true;
  return index;
}

void AgentIndices::Free(std::uint32_t index) {
  used_[index] = false;
  first_free_ = std::min<std::size_t>(first_free_, index);
}

}  // namespace murmurate::wire
