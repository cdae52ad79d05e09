#include "server/data/read_ahead.h"

#include <algorithm>

namespace murmurate {

ReadAhead::ReadAhead(const ItemOrder& order, const DataSource& source, const DataSource* scored,
                     int passes)
    : order_(&order),
      source_(&source),
      scored_(scored),
      held_out_(scored ? scored->items() : order.held_out()),
      pass_items_(order.learned() + held_out_),
      end_(pass_items_ * static_cast<std::uint64_t>(passes)) {
  const ReadBlocks& blocks = order.blocks();
  const std::uint64_t all = order.learned() / std::max<std::uint64_t>(blocks.items, 1) + 1;
  group_items_ = blocks.items * std::min(blocks.group, all);
  distance_ = group_items_ + group_items_ / 4;
}

void ReadAhead::Begin(std::uint64_t at) const {
  if (group_items_ == 0) return;
  const std::uint64_t place = at % pass_items_;
  const bool held_out = place >= order_->learned();
  const std::uint64_t behind = held_out ? 0 : place % group_items_;
  Ask(at - behind, at + distance_);
}

void ReadAhead::Before(std::uint64_t at, std::uint64_t count) const {
  if (group_items_ > 0) Ask(at + distance_, at + distance_ + count);
}

/// For the blocks that begin in [from, to).
void ReadAhead::Ask(std::uint64_t from, std::uint64_t to) const {
  const std::uint64_t block_items = order_->blocks().items, learned = order_->learned();
  to = std::min(to, end_);
  while (from < to) {
    const std::uint64_t pass = from / pass_items_, place = from % pass_items_;
    const bool held_out = place >= learned;
    const std::uint64_t begin = pass * pass_items_ + (held_out ? learned : 0);
    const std::uint64_t end = begin + (held_out ? held_out_ : learned);
    const std::uint64_t block = (from - begin + block_items - 1) / block_items;
    from = std::min(begin + block * block_items, end);
    if (from >= to || from == end) continue;
    AskFor(pass, block, held_out);
    ++from;
  }
}

void ReadAhead::AskFor(std::uint64_t pass, std::uint64_t block, bool held_out) const {
  if (!held_out) return order_->BeginToReadLearned(pass, block, *source_);
  if (scored_ == nullptr) return order_->BeginToReadHeldOut(block, *source_);
  const std::uint64_t first = block * order_->blocks().items;
  scored_->BeginToRead(first, std::min(order_->blocks().items, held_out_ - first));
}

}  // namespace murmurate
