#include "server/session/sender.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace murmurate::wire {

void Share::TakeSeats(std::vector<Seat> seats) {
  seats_ = std::move(seats);
  ++seating_;
  by_number_.resize(seats_.size());
  std::iota(by_number_.begin(), by_number_.end(), 0u);
  std::ranges::sort(by_number_, {}, [this](std::uint32_t place) { return seats_[place].number; });
  seated_steps_ = 0;
  for (const Seat& seat : seats_) seated_steps_ += seat.last_steps - seat.first_steps;
}

const Seat* Share::Find(std::uint32_t number) const {
  const auto found = std::ranges::lower_bound(
      by_number_, number, {}, [this](std::uint32_t place) { return seats_[place].number; });
  if (found == by_number_.end() || seats_[*found].number != number) return nullptr;
  return &seats_[*found];
}

void Share::CountSteps(const Seat& seat, std::uint64_t agent_steps, std::uint64_t steps) {
  Seat& counted = seats_[static_cast<std::size_t>(&seat - seats_.data())];
  if (!counted.heard) {
    counted.heard = true;
    counted.first_steps = counted.last_steps = agent_steps - std::min(agent_steps, steps);
  }
  const std::uint64_t last = std::max(counted.last_steps, agent_steps);
  seated_steps_ += last - counted.last_steps;
  counted.last_steps = last;
}

Share* Sender::ShareOf(std::uint32_t model) {
  return model < models.size() ? &shares.at(models[model]) : nullptr;
}

int Sender::agents() const {
  std::size_t count = 0;
  for (const auto& [model, share] : shares) count += share.seats().size();
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
  while (first_free_ < used_.size() && used_[first_free_]) ++first_free_;
  if (first_free_ == used_.size()) used_.push_back(false);
  used_[first_free_] = true;
  return static_cast<std::uint32_t>(first_free_++);
}

std::uint32_t AgentIndices::TakeAgain(std::uint32_t index) {
  if (index >= used_.size() || used_[index]) return Take();
  used_[index] = true;
  return index;
}

void AgentIndices::Free(std::uint32_t index) {
  used_[index] = false;
  first_free_ = std::min<std::size_t>(first_free_, index);
}

}  // namespace murmurate::wire
