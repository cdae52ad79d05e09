// ItemOrder: which items are held out, which are a learner's, and in what order each pass has them.
//
// Where any order costs the same, all of this is by single items (permutation.h). Where a source
// says that items which lie together are read together (ReadBlocks), it is by blocks of them
// (block_permutation.h): whole blocks are held out, a part is made of whole blocks, and a pass
// mixes some blocks at a time. In both, every item is held out or in one part, and once in each
// pass of it.
//
// Pure functions of what it is made of, for any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "server/data/block_permutation.h"
#include "server/data/data_source.h"
#include "server/data/permutation.h"

namespace murmurate {

/// FeedPart says which of the items are this learner's.
struct FeedPart {
  std::uint64_t index = 0, of = 1;  ///< index < of
  bool of_several = false;          ///< learners: what is held out is the same for all seeds
  friend bool operator==(const FeedPart&, const FeedPart&) = default;
};

class ItemOrder {
 public:
  /// `share` of the items is held out: at least one and not all, or, if it is 0, none.
  ItemOrder(std::uint64_t items, double share, std::uint64_t seed, const FeedPart& part,
            const ReadBlocks& blocks);

  /// Of so many items; with blocks the nearest number of whole ones, if that is neither none nor
  /// all.
  static std::uint64_t HeldOut(std::uint64_t items, double share, const ReadBlocks& blocks);

  const ReadBlocks& blocks() const { return blocks_; }
  std::uint64_t held_out() const { return held_out_; }
  std::uint64_t learned() const { return learned_; }  ///< this part's; 0: too few to divide
  /// Appends the items at places [first, first + count) of a pass, or of those held out.
  void AppendLearned(std::uint64_t pass, std::uint64_t first, std::uint64_t count,
                     std::vector<std::uint64_t>* items) const;
  void AppendHeldOut(std::uint64_t first, std::uint64_t count,
                     std::vector<std::uint64_t>* items) const;
  /// Begins to read, with blocks, the items of block `block` of a pass, [0, learned /
  /// blocks.items], or of those held out; the blocks are counted in the order in which they are
  /// needed.
  void BeginToReadLearned(std::uint64_t pass, std::uint64_t block, const DataSource& source) const;
  void BeginToReadHeldOut(std::uint64_t block, const DataSource& source) const;

 private:
  void BeginToRead(std::uint64_t first, std::uint64_t count, const DataSource& source) const;
  BlockPermutation OfPass(std::uint64_t pass) const;

  const std::uint64_t seed_;
  const FeedPart part_;
  const ReadBlocks blocks_;
  const std::uint64_t held_out_, all_learned_;
  std::uint64_t first_ = 0;  ///< with blocks: the place in by_blocks_ of this part's first
  std::uint64_t learned_ = 0;
  const Permutation by_items_;        ///< the places behind all_learned_ are held out
  const BlockPermutation by_blocks_;  ///< unmixed; the places below held_out_ are held out
};

}  // namespace murmurate
