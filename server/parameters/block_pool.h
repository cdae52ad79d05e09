// BlockPool: blocks of floats that go out by shared pointer and come back by themselves when the
// last one who reads them lets go, on whatever thread: what is sent as it lies costs no allocation.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "shared/core/aligned_floats.h"

namespace murmurate {

class BlockPool {
 public:
  /// Of blocks of `floats` each.
  explicit BlockPool(std::size_t floats) : shelf_(std::make_shared<Shelf>()) {
    shelf_->floats = floats;
  }

  /// Holds anything.
  std::shared_ptr<AlignedFloats> Take() {
    std::unique_ptr<AlignedFloats> block;
    {
      const std::lock_guard lock(shelf_->mutex);
      if (!shelf_->free.empty()) {
        block = std::move(shelf_->free.back());
        shelf_->free.pop_back();
      }
    }
    if (!block) block = std::make_unique<AlignedFloats>(shelf_->floats);
    return {block.release(), [shelf = shelf_](AlignedFloats* back) {
              const std::lock_guard lock(shelf->mutex);
              shelf->free.emplace_back(back);
            }};
  }

 private:
  struct Shelf {
    std::size_t floats = 0;
    std::mutex mutex;
    std::vector<std::unique_ptr<AlignedFloats>> free;
  };
  std::shared_ptr<Shelf> shelf_;  ///< outlives the pool while a block is out
};

}  // namespace murmurate
