// BlockPool: blocks of floats that go out by shared pointer and come back by themselves when the
// last one who reads them lets go, on whatever thread: what is sent as it lies costs no allocation.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "server/parameters/shard_segment.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

/// Floats in memory of their own, or in a place of a segment that this process made.
class Block {
 public:
  explicit Block(std::size_t floats) : own_(floats), floats_(own_) {}
  Block(std::shared_ptr<ShardSegment> segment, std::uint32_t place)
      : segment_(std::move(segment)), place_(place), floats_(segment_->place(place)) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  std::span<float> floats() { return floats_; }
  std::span<const float> floats() const { return floats_; }
  std::uint32_t place() const { return place_; }  ///< 0: in memory of its own

 private:
  AlignedFloats own_;
  std::shared_ptr<ShardSegment> segment_;
  std::uint32_t place_ = 0;
  std::span<float> floats_;
};

class BlockPool {
 public:
  /// Of blocks of `floats` each. Those of `segment` are given out first.
  explicit BlockPool(std::size_t floats, const std::shared_ptr<ShardSegment>& segment = nullptr)
      : shelf_(std::make_shared<Shelf>()) {
    shelf_->floats = floats;
    for (std::uint32_t place = segment ? segment->places() : 0; place > 0; --place)
      shelf_->places.push_back(std::make_unique<Block>(segment, place));
  }

  /// Holds anything.
  std::shared_ptr<Block> Take() {
    std::unique_ptr<Block> block;
    {
      const std::lock_guard lock(shelf_->mutex);
      auto& free = shelf_->places.empty() ? shelf_->free : shelf_->places;
      if (!free.empty()) {
        block = std::move(free.back());
        free.pop_back();
      }
    }
    if (!block) block = std::make_unique<Block>(shelf_->floats);
    return {block.release(), [shelf = shelf_](Block* back) {
              const std::lock_guard lock(shelf->mutex);
              (back->place() == 0 ? shelf->free : shelf->places).emplace_back(back);
            }};
  }

 private:
  struct Shelf {
    std::size_t floats = 0;
    std::mutex mutex;
    std::vector<std::unique_ptr<Block>> free, places;
  };
  std::shared_ptr<Shelf> shelf_;  ///< outlives the pool while a block is out
};

}  // namespace murmurate
