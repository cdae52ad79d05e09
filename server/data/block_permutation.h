// BlockPermutation: a shuffled order of [0, n) for what lies on a disk: numbers that lie together
// come up soon after each other, so that the disk is read in large pieces.
//
//   [0, n) in blocks of B    0 1 2 3 | 4 5 6 7 | 8 9 ...        the last one may be shorter
//   blocks in a random order 8 9 10 11 | 0 1 2 3 | ...          Unmixed; the short one stays last
//   groups of G blocks, each put in a random order of its own   operator()
//
// So a number may come anywhere in the order, and a group holds the numbers of G blocks only. A pure
// function of n, key, B and G (permutation.h), for any thread.
#pragma once

#include <cstdint>

#include "server/data/permutation.h"

namespace murmurate {

class BlockPermutation {
 public:
  /// n, block, group >= 1: numbers, numbers in a block, blocks in a group. A group of all blocks is
  /// a Permutation in what it promises.
  BlockPermutation(std::uint64_t n, std::uint64_t key, std::uint64_t block, std::uint64_t group);

  /// The number at place i < n.
  std::uint64_t operator()(std::uint64_t i) const;
  /// The number that would be at place i < n if groups were not mixed: those of one group are the
  /// same as of operator(), and behind place k * block come block numbers that follow each other.
  std::uint64_t Unmixed(std::uint64_t i) const;
  /// Numbers in a group; the last group may be shorter.
  std::uint64_t group_items() const { return group_items_; }

 private:
  std::uint64_t n_, key_, block_, whole_blocks_, group_items_;
  Permutation blocks_;
};

}  // namespace murmurate
