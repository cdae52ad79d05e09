#include "shared/wire/sender.h"

#include <algorithm>

namespace murmurate::wire {

Seat* Share::Find(std::uint32_t number) {
  const auto seat = std::find_if(seats.begin(), seats.end(),
                                 [number](const Seat& s) { return s.number == number; });
  return seat == seats.end() ? nullptr : &*seat;
}

std::uint64_t Share::trajectory_steps() const {
  std::uint64_t steps = left_steps;
  for (const Seat& seat : seats) steps += seat.last_steps - seat.first_steps;
  return steps;
}

Share* Sender::ShareOf(std::uint32_t model) {
  return model < models.size() ? &shares.at(models[model]) : nullptr;
}

int Sender::agents() const {
  std::size_t count = 0;
  for (const auto& [model, share] : shares) count += share.seats.size();
  return static_cast<int>(count);
}

/// A lock-step run must not depend on when a PING came.
std::uint64_t Sender::Steps(const Share& share) const {
  const std::uint64_t steps = share.trajectory_steps();
  return pace == Pace::kLockstep ? steps : std::max(steps, share.pinged_steps);
}

std::uint64_t Sender::dealt_through() const {
  return undealt.empty() ? acknowledged : std::min(acknowledged, undealt.begin()->first - 1);
}

void AgentIndices::Know(std::uint32_t index) {
  if (index >= used_.size()) used_.resize(index + 1, false);
}

std::uint32_t AgentIndices::Take() {
  const auto free = std::find(used_.begin(), used_.end(), false);
  const auto index = static_cast<std::uint32_t>(free - used_.begin());
  if (free == used_.end()) used_.push_back(true);
  used_[index] = true;
  return index;
}

std::uint32_t AgentIndices::TakeAgain(std::uint32_t index) {
  if (index >= used_.size() || used_[index]) return Take();
  used_[index] = true;
  return index;
}

}  // namespace murmurate::wire
