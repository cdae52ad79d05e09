#include "client/agent_memory.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace murmurate {

AgentMemory::AgentMemory(std::shared_ptr<const FrameStack> stack, std::size_t row_bytes,
                         int state_floats)
    : stack_(std::move(stack)),
      row_bytes_(row_bytes),
      depth_(static_cast<std::size_t>(stack_->depth())),
      state_(static_cast<std::size_t>(state_floats)) {
  if (depth_ == 1) return;
  rows_ = AlignedFloats(depth_ * row_bytes_ / sizeof(float));
  stacked_ = AlignedFloats(stack_->row_bytes() / sizeof(float));
  ages_.resize(depth_);
}

void AgentMemory::Forget() {
  held_ = 0;
  std::fill(state_.begin(), state_.end(), 0.0f);
}

std::byte* AgentMemory::Slot(std::size_t age) {
  const std::size_t place = (newest_ + depth_ - age) % depth_;
  return reinterpret_cast<std::byte*>(rows_.data()) + place * row_bytes_;
}

void AgentMemory::Write(std::span<float> state0, std::span<std::byte> frames0) const {
  std::copy(state_.begin(), state_.end(), state0.begin());
  for (std::size_t age = 0; age + 1 < depth_; ++age) {
    std::byte* to = frames0.data() + (depth_ - 2 - age) * row_bytes_;
    if (age < held_) {
      std::memcpy(to, Slot(age), row_bytes_);
    } else {
      std::memset(to, 0, row_bytes_);
    }
  }
}

const std::byte* AgentMemory::Stack(std::span<const std::byte> row) {
  if (depth_ == 1) return row.data();
  newest_ = (newest_ + 1) % depth_;
  held_ = std::min(held_ + 1, depth_);
  std::memcpy(Slot(0), row.data(), row_bytes_);
  for (std::size_t age = 0; age < depth_; ++age) ages_[age] = age < held_ ? Slot(age) : nullptr;
  std::byte* stacked = reinterpret_cast<std::byte*>(stacked_.data());
  stack_->Assemble(ages_, stacked);
  return stacked;
}

}  // namespace murmurate
