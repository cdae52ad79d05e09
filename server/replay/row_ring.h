// RowRing: the columns of the steps that a replay keeps, in a ring. A row is named by its number,
// counted over all that were ever written; it lies at `number % capacity`. An observation is stored
// once and as it was sent, however many frames a model stacks.
//
//   observation row | action words | log_prob | reward, raw | flags and one bit | mask | trajectory
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "server/experience/training_batch.h"
#include "server/replay/mapped_block.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

class RowRing {
 public:
  RowRing(const TrajectoryLayout& layout, std::size_t capacity, BlockCursor& block);

  std::size_t capacity() const { return capacity_; }
  std::size_t Place(std::uint64_t row) const { return row % capacity_; }

  /// Writes the steps of a trajectory to the rows from `first` on, over those that lay there.
  /// `owner` is any number that names it.
  void Write(std::uint64_t first, const TrajectoryView& view, std::uint32_t owner);
  /// Copies `count` rows to the rows of a batch from `to` on, all columns but the observations and
  /// the weights.
  void CopyTo(std::uint64_t first, int count, std::size_t to, TrainingBatch* batch) const;
  void CopyObservations(std::uint64_t first, int count, std::byte* to) const;

  /// All of them, by place.
  std::span<const std::byte> observations() const { return observation_; }
  const std::byte* Observation(std::uint64_t row) const {
    return observation_.data() + Place(row) * layout_.row_bytes();
  }
  std::uint32_t Owner(std::uint64_t row) const { return owner_[Place(row)]; }
  /// StepFlags.
  std::uint8_t Flags(std::uint64_t row) const { return flags_[Place(row)] & ~kMarked; }

  /// A bit that is clear when the row is written.
  bool Marked(std::uint64_t row) const { return (flags_[Place(row)] & kMarked) != 0; }
  void Mark(std::uint64_t row) { flags_[Place(row)] |= kMarked; }
  /// How many of so many rows are marked.
  std::size_t CountMarked(std::uint64_t first, std::uint64_t count) const;

 private:
  static constexpr std::uint8_t kMarked = 0x80;

  const TrajectoryLayout layout_;
  const std::size_t capacity_;
  std::span<std::byte> observation_;
  std::span<std::int32_t> action_;
  std::span<float> log_prob_, reward_;
  std::span<std::uint8_t> flags_, mask_;
  std::span<std::uint32_t> owner_;
  bool masked_ = false;  ///< any trajectory came with a mask
};

}  // namespace murmurate
