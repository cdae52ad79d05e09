// PushBlockPool: blocks of floats that go out by shared pointer and come back by themselves when the
// last reader lets go, on whatever thread: what is sent as it lies costs no allocation.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "server/parameters/shard_segment.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

/// Floats in memory of their own, or in a slot of a segment that this process made.
class Block {
 public:
  explicit Block(std::size_t floats) : own_(floats), floats_(own_) {}
  Block(std::shared_ptr<ShardSegment> segment, std::uint32_t slot)
      : segment_(std::move(segment)), slot_(slot), floats_(segment_->slot(slot)) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::span<float> floats() { return floats_; }
  std::span<const float> floats() const { return floats_; }
  std::uint32_t slot() const { return slot_; }  ///< 0: in memory of its own

 private:
  AlignedFloats own_;
  std::shared_ptr<ShardSegment> segment_;
  std::uint32_t slot_ = 0;
  std::span<float> floats_;
};

class PushBlockPool {
 public:
  /// A pool of blocks of `floats` each. Those of `segment` are given out first.
  explicit PushBlockPool(std::size_t floats, const std::shared_ptr<ShardSegment>& segment = nullptr)
      : blocks_(std::make_shared<SharedBlocks>()) {
    blocks_->floats = floats;
    for (std::uint32_t slot = segment ? segment->slots() : 0; slot > 0; --slot)
      blocks_->slots.push_back(std::make_unique<Block>(segment, slot));
  }

  /// Returns a block that holds anything.
  std::shared_ptr<Block> Acquire() {
    std::unique_ptr<Block> block;
    {
      const std::lock_guard lock(blocks_->mutex);
      auto& free = blocks_->slots.empty() ? blocks_->free : blocks_->slots;
      if (!free.empty()) {
        block = std::move(free.back());
        free.pop_back();
      }
    }
    if (!block) block = std::make_unique<Block>(blocks_->floats);
    return {block.release(), [blocks = blocks_](Block* back) {
              const std::lock_guard lock(blocks->mutex);
              (back->slot() == 0 ? blocks->free : blocks->slots).emplace_back(back);
            }};
  }

 private:
  struct SharedBlocks {
    std::size_t floats = 0;
    std::mutex mutex;
    std::vector<std::unique_ptr<Block>> free, slots;
  };
  std::shared_ptr<SharedBlocks> blocks_;  ///< outlives the pool while a block is out
};

}  // namespace murmurate
