// AgentMemory: what an agent carries from step to step because its model asks for it: the last rows
// it saw, where frames are stacked, and the recurrent state. All zero when an episode begins. The
// game's thread; nothing is allocated after construction.
//
//   Forget()     an episode begins
//   Write()      what the next step begins with, for the trajectory that begins with it
//   Stack(row)   the next step sees `row`; the row that the policy sees
//   state()      read and replaced by the policy
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "shared/core/aligned_floats.h"
#include "shared/trajectory/frame_stack.h"

namespace murmurate {

class AgentMemory {
 public:
  /// `row_bytes`: of a row as recorded, before it is stacked.
  AgentMemory(std::shared_ptr<const FrameStack> stack, std::size_t row_bytes, int state_floats);

  void Forget();
  /// Whole columns of a block: state0 [state_floats], frames0 [depth - 1] rows, oldest first.
  void Write(std::span<float> state0, std::span<std::byte> frames0) const;
  /// `row` itself where nothing is stacked, else the stacked row, kept here until the next Stack.
  const std::byte* Stack(std::span<const std::byte> row);
  std::span<float> state() { return state_; }
  /// Bytes of what Stack gives.
  std::size_t seen_bytes() const { return stack_->row_bytes(); }

 private:
  std::byte* Slot(std::size_t age);
  const std::byte* Slot(std::size_t age) const { return const_cast<AgentMemory*>(this)->Slot(age); }

  const std::shared_ptr<const FrameStack> stack_;
  const std::size_t row_bytes_, depth_;
  AlignedFloats rows_;  ///< a ring of depth_ rows, when frames are stacked
  AlignedFloats stacked_;
  std::vector<const std::byte*> ages_;  ///< what Assemble reads
  std::size_t newest_ = 0, held_ = 0;   ///< held_: rows of this episode, at most depth_
  AlignedFloats state_;
};

}  // namespace murmurate
