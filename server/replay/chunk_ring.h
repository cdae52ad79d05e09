// ChunkRing: what is known of the trajectories that a replay keeps. A chunk is named by its number,
// counted over all that there ever were; it lies in the slot `number % capacity`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "server/replay/mapped_block.h"

namespace murmurate {

/// A Chunk is one trajectory. Those of an agent that follow each other without a gap are a chain.
struct Chunk {
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  std::uint64_t first_row, first_step, version;
  std::uint64_t previous, following;  ///< chunks of its chain; kNone: there is none
  std::uint32_t agent;
  std::int32_t steps;
  std::uint32_t frames;            ///< the rows before it, of the first of a chain
  std::uint32_t next_observation;  ///< of the last of a chain; none if its last step ended
  std::uint32_t finals;            ///< the newest first
};

class ChunkRing {
 public:
  ChunkRing(std::size_t capacity, BlockCursor& block) : slots_(block.Next<Chunk>(capacity)) {}

  std::uint64_t first() const { return first_; }  ///< the oldest that is kept
  std::uint64_t size() const { return end_ - first_; }
  bool full() const { return size() == slots_.size(); }

  std::size_t SlotOf(std::uint64_t number) const { return number % slots_.size(); }
  Chunk& At(std::uint64_t number) { return slots_[SlotOf(number)]; }
  const Chunk& At(std::uint64_t number) const { return slots_[SlotOf(number)]; }
  /// The number of the chunk in a slot.
  std::uint64_t NumberAt(std::size_t slot) const {
    const std::size_t first = SlotOf(first_);
    return first_ + (slot >= first ? slot - first : slot + slots_.size() - first);
  }

  /// The number of one more; it is not full.
  std::uint64_t Append(const Chunk& chunk) {
    At(end_) = chunk;
    return end_++;
  }
  void DropFirst() { ++first_; }

 private:
  std::span<Chunk> slots_;
  std::uint64_t first_ = 0, end_ = 0;
};

}  // namespace murmurate
