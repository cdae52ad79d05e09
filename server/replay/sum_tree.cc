#include "server/replay/sum_tree.h"

#include <algorithm>

namespace murmurate {
namespace {

std::size_t Up(std::size_t count, std::size_t step) { return (count + step - 1) / step; }

/// Eight numbers, in pairs of pairs.
double SumOf(const double* x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/// The child in which `mass` falls, which becomes what is left of it there; never one of 0, of which
/// another is above 0.
template <typename T, std::size_t kCount>
std::size_t Child(const T* children, double* mass) {
  std::size_t last = 0;
  double before = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double child = children[i];
    if (child <= 0) continue;
    last = i;
    if (*mass < child) return i;
    before = *mass;
    *mass -= child;
  }
  *mass = before;  // rounding led past the end: the last one
  return last;
}

}  // namespace

SumTree::SumTree(std::size_t leaves, BlockCursor& block)
    : leaves_(block.Next<float>(Up(leaves, kLeaves) * kLeaves)) {
  std::size_t nodes = Up(leaves, kLeaves);
  while (true) {
    levels_[depth_++] = block.Next<double>(nodes == 1 ? 1 : Up(nodes, kNodes) * kNodes);
    if (nodes == 1) return;
    nodes = Up(nodes, kNodes);
  }
}

void SumTree::SumLeaves(std::size_t node) {
  const float* const leaf = leaves_.data() + node * kLeaves;
  double pairs[kNodes];
  for (std::size_t i = 0; i < kNodes; ++i) pairs[i] = double{leaf[i]} + double{leaf[i + kNodes]};
  levels_[0][node] = SumOf(pairs);
}

void SumTree::SumNodes(int level, std::size_t node) {
  levels_[level][node] = SumOf(levels_[level - 1].data() + node * kNodes);
}

void SumTree::Set(std::size_t leaf, float value) {
  leaves_[leaf] = value;
  std::size_t node = leaf / kLeaves;
  SumLeaves(node);
  for (int level = 1; level < depth_; ++level) SumNodes(level, node /= kNodes);
}

void SumTree::Fill(std::size_t first, std::size_t count, float value) {
  if (count == 0) return;
  std::fill_n(leaves_.begin() + static_cast<std::ptrdiff_t>(first), count, value);
  std::size_t begin = first / kLeaves, last = (first + count - 1) / kLeaves;
  for (std::size_t node = begin; node <= last; ++node) SumLeaves(node);
  for (int level = 1; level < depth_; ++level) {
    begin /= kNodes;
    last /= kNodes;
    for (std::size_t node = begin; node <= last; ++node) SumNodes(level, node);
  }
}

std::size_t SumTree::Find(double mass) const {
  std::size_t node = 0;
  for (int level = depth_ - 2; level >= 0; --level)
    node = node * kNodes + Child<double, kNodes>(levels_[level].data() + node * kNodes, &mass);
  return node * kLeaves + Child<float, kLeaves>(leaves_.data() + node * kLeaves, &mass);
}

}  // namespace murmurate
