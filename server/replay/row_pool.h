// RowPool: blocks of one size in fixed memory, taken and given back in any order, and lists of
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "server/replay/mapped_block.h"

namespace murmurate {

class RowPool {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  RowPool(std::size_t block_bytes, std::size_t count, BlockCursor& block);

  std::size_t free() const { return free_; }

  /// A block, with what it held before; there must be a free one.
  std::uint32_t Take();
  /// Takes one to the front of a list, which is kNone when it is empty.
  void TakeTo(std::uint32_t* list);
  /// Gives a block back.
  void Give(std::uint32_t number);
  /// Gives all of a list back; it is then empty.
  void GiveAll(std::uint32_t* list);
  std::uint32_t Following(std::uint32_t number) const { return next_[number]; }

  /// All blocks, by number.
  std::span<const std::byte> bytes() const { return bytes_; }
  std::byte* Block(std::uint32_t number) { return bytes_.data() + number * block_bytes_; }
  const std::byte* Block(std::uint32_t number) const {
    return bytes_.data() + number * block_bytes_;
  }

 private:
  const std::size_t block_bytes_;
  std::span<std::byte> bytes_;
  std::span<std::uint32_t> next_;  ///< of a free block, or in its list
  std::uint32_t first_free_ = kNone, untouched_ = 0;
  std::size_t free_;
};

}  // namespace murmurate
