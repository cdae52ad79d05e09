#include "server/replay/row_pool.h"

#include "shared/core/check.h"

namespace murmurate {

RowPool::RowPool(std::size_t block_bytes, std::size_t count, BlockCursor& block)
    : block_bytes_(block_bytes),
      bytes_(block.Next<std::byte>(count * block_bytes)),
      next_(block.Next<std::uint32_t>(count)),
      free_(count) {}

std::uint32_t RowPool::Take() {
  MURMURATE_CHECK(free_ > 0, "a block is free");
  --free_;
  if (first_free_ == kNone) return untouched_++;
  const std::uint32_t number = first_free_;
  first_free_ = next_[number];
  return number;
}

void RowPool::TakeTo(std::uint32_t* list) {
  const std::uint32_t number = Take();
  next_[number] = *list;
  *list = number;
}

void RowPool::Give(std::uint32_t number) {
  next_[number] = first_free_;
  first_free_ = number;
  ++free_;
}

void RowPool::GiveAll(std::uint32_t* list) {
  while (*list != kNone) {
    const std::uint32_t number = *list;
    *list = next_[number];
    Give(number);
  }
}

}  // namespace murmurate
