#include "server/data/item_order.h"

#include <algorithm>
#include <cmath>

#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kSplitSeed = 0x686f6c646f7574;  // "holdout"

/// index, index + of, ... of so many.
std::uint64_t ItemsOfPart(std::uint64_t items, const FeedPart& part) {
  return items > part.index ? (items - part.index + part.of - 1) / part.of : 0;
}

/// Where part `index` of so many items begins: between two blocks, if parts have that many.
std::uint64_t Border(std::uint64_t items, std::uint64_t index, std::uint64_t of,
                     std::uint64_t block) {
  if (index == of) return items;
  const std::uint64_t even = items / of * index + std::min(index, items % of);
  return items / of >= block ? even / block * block : even;
}

}  // namespace

std::uint64_t ItemOrder::HeldOut(std::uint64_t items, double share, const ReadBlocks& blocks) {
  if (share <= 0.0) return 0;
  const double wanted = static_cast<double>(items) * share;
  const auto count =
      std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::llround(wanted)), 1, items - 1);
  if (blocks.items == 0) return count;
  const double size = static_cast<double>(blocks.items);
  const double whole = std::round(wanted / size) * size;
  const bool leaves_some = whole > 0.0 && whole < static_cast<double>(items);
  return leaves_some ? static_cast<std::uint64_t>(whole) : count;
}

ItemOrder::ItemOrder(std::uint64_t items, double share, std::uint64_t seed, const FeedPart& part,
                     const ReadBlocks& blocks)
    : seed_(seed),
      part_(part),
      blocks_(blocks),
      held_out_(HeldOut(items, share, blocks)),
      all_learned_(items - held_out_),
      by_items_(items, DeriveSeed(part.of_several ? kSplitSeed : seed, kSplitSeed)),
      by_blocks_(items, DeriveSeed(part.of_several ? kSplitSeed : seed, kSplitSeed),
                 std::max<std::uint64_t>(blocks.items, 1), 1) {
  if (blocks.items == 0) {
    learned_ = ItemsOfPart(all_learned_, part);
    return;
  }
  first_ = Border(all_learned_, part.index, part.of, blocks.items);
  learned_ = Border(all_learned_, part.index + 1, part.of, blocks.items) - first_;
  first_ += held_out_;
}

BlockPermutation ItemOrder::OfPass(std::uint64_t pass) const {
  return {learned_, DeriveSeed(seed_, pass), blocks_.items,
          blocks_.group > 0 ? blocks_.group : learned_};
}

void ItemOrder::AppendLearned(std::uint64_t pass, std::uint64_t first, std::uint64_t count,
                              std::vector<std::uint64_t>* items) const {
  if (blocks_.items > 0) {
    const BlockPermutation order = OfPass(pass);
    for (std::uint64_t i = first; i < first + count; ++i)
      items->push_back(by_blocks_.Unmixed(first_ + order(i)));
    return;
  }
  const Permutation order(learned_, DeriveSeed(seed_, pass));
  for (std::uint64_t i = first; i < first + count; ++i)
    items->push_back(by_items_(part_.index + part_.of * order(i)));
}

void ItemOrder::AppendHeldOut(std::uint64_t first, std::uint64_t count,
                              std::vector<std::uint64_t>* items) const {
  for (std::uint64_t i = first; i < first + count; ++i)
    items->push_back(blocks_.items > 0 ? by_blocks_.Unmixed(i) : by_items_(all_learned_ + i));
}

void ItemOrder::BeginToReadLearned(std::uint64_t pass, std::uint64_t block,
                                   const DataSource& source) const {
  const std::uint64_t place = block * blocks_.items;
  BeginToRead(first_ + OfPass(pass).Unmixed(place), std::min(blocks_.items, learned_ - place),
              source);
}

void ItemOrder::BeginToReadHeldOut(std::uint64_t block, const DataSource& source) const {
  const std::uint64_t place = block * blocks_.items;
  BeginToRead(place, std::min(blocks_.items, held_out_ - place), source);
}

/// Places [first, first + count) of by_blocks_: one block, or the end of one and the beginning of
/// another.
void ItemOrder::BeginToRead(std::uint64_t first, std::uint64_t count,
                            const DataSource& source) const {
  while (count > 0) {
    const std::uint64_t together = std::min(count, blocks_.items - first % blocks_.items);
    source.BeginToRead(by_blocks_.Unmixed(first), together);
    first += together;
    count -= together;
  }
}

}  // namespace murmurate
