// SumTree: numbers that are not negative, of which one is found by where a mass falls in the sums
// of all before it. A node has 16 leaves or 8 nodes below it: one line of the cache each.
//
//   leaves   float    [n]          16 a node
//   sums     double   [n / 16]     8 a node, and so on up to the one that is the total
//
// The nodes above changed leaves are summed anew, from what is below them and in a fixed order,
// before the sums are read: each once, however many leaves below it have changed. A sum is thus a
// function of the leaves alone: nothing drifts, and no rebuild is needed.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "server/replay/mapped_block.h"

namespace murmurate {

class SumTree {
 public:
  /// All leaves are 0.
  SumTree(std::size_t leaves, BlockCursor& block);

  float Get(std::size_t leaf) const { return leaves_[leaf]; }
  void Set(std::size_t leaf, float value);
  void Fill(std::size_t first, std::size_t count, float value);

  double total();
  /// Finds for each mass the leaf i with sum of those before <= mass < that sum + leaf i, as far as
  /// rounding allows: never one that is 0, unless all are. 0 <= mass < total(). The masses are used
  /// up. Many at once cost less each, the least in rising order.
  void Find(std::span<double> masses, std::span<std::size_t> leaves);

 private:
  static constexpr std::size_t kLeaves = 16, kNodes = 8;

  /// Nodes that wait at most.
  static constexpr std::size_t kMostChanged = 4096;

  void NoteChange(std::size_t node);
  void Sum();

  std::span<float> leaves_;
  std::array<std::span<double>, 12> levels_;
  int depth_ = 0;
  std::vector<std::size_t> changed_;  ///< nodes of the lowest level, to be summed
};

}  // namespace murmurate
