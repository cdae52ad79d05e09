#include "server/replay/sum_tree.h"

#include <algorithm>

namespace murmurate {
namespace {

std::size_t Up(std::size_t count, std::size_t step) { return (count + step - 1) / step; }

/// Eight numbers, in pairs of pairs.
double SumOf(const double* x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/// Sixteen, those that are eight apart first.
double SumOfLeaves(const float* leaf) {
  double pairs[8];
  for (std::size_t i = 0; i < 8; ++i) pairs[i] = double{leaf[i]} + double{leaf[i + 8]};
  return SumOf(pairs);
}

/// The last one above 0, where rounding led past the end, or 0. `mass` becomes one that falls
/// there.
template <typename T, std::size_t kCount>
std::size_t LastChild(const T* children, double* mass) {
  std::size_t last = kCount - 1;
  while (last > 0 && children[last] <= 0) --last;
  *mass = std::min(*mass, double{children[last]});
  return last;
}

/// The child in which `mass` falls, which becomes what is left of it there. No jump depends on the
/// numbers.
template <typename T, std::size_t kCount>
std::size_t Child(const T* children, double* mass) {
  std::size_t child = 0;
  double sum = 0, before = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    sum += double{children[i]};
    const bool past = sum <= *mass;
    child += past;
    before = past ? sum : before;
  }
  if (child == kCount) [[unlikely]]
    return LastChild<T, kCount>(children, mass);
  *mass -= before;
  return child;
}

}  // namespace

SumTree::SumTree(std::size_t leaves, BlockCursor& block)
    : leaves_(block.Next<float>(Up(leaves, kLeaves) * kLeaves)) {
  changed_.reserve(kMostChanged);
  std::size_t nodes = Up(leaves, kLeaves);
  while (true) {
    levels_[depth_++] = block.Next<double>(nodes == 1 ? 1 : Up(nodes, kNodes) * kNodes);
    if (nodes == 1) return;
    nodes = Up(nodes, kNodes);
  }
}

void SumTree::Set(std::size_t leaf, float value) {
  leaves_[leaf] = value;
  NoteChange(leaf / kLeaves);
}

void SumTree::Fill(std::size_t first, std::size_t count, float value) {
  if (count == 0) return;
  std::fill_n(leaves_.begin() + static_cast<std::ptrdiff_t>(first), count, value);
  const std::size_t last = (first + count - 1) / kLeaves;
  for (std::size_t node = first / kLeaves; node <= last; ++node) NoteChange(node);
}

/// Neighbours often change after each other.
void SumTree::NoteChange(std::size_t node) {
  if (!changed_.empty() && changed_.back() == node) return;
  if (changed_.size() == kMostChanged) Sum();
  changed_.push_back(node);
}

void SumTree::Sum() {
  for (const std::size_t node : changed_)
    levels_[0][node] = SumOfLeaves(leaves_.data() + node * kLeaves);
  for (int level = 1; level < depth_; ++level) {
    const double* const below = levels_[level - 1].data();
    for (std::size_t& node : changed_) node /= kNodes;
    changed_.erase(std::unique(changed_.begin(), changed_.end()), changed_.end());
    for (const std::size_t node : changed_) levels_[level][node] = SumOf(below + node * kNodes);
  }
  changed_.clear();
}

double SumTree::total() {
  Sum();
  return levels_[depth_ - 1][0];
}

/// Level by level: the lines that the masses read in one do not wait for each other.
void SumTree::Find(std::span<double> masses, std::span<std::size_t> leaves) {
  Sum();
  std::ranges::fill(leaves, std::size_t{0});
  for (int level = depth_ - 2; level >= 0; --level) {
    const double* const sums = levels_[level].data();
    for (std::size_t i = 0; i < masses.size(); ++i) {
      const std::size_t first = leaves[i] * kNodes;
      leaves[i] = first + Child<double, kNodes>(sums + first, &masses[i]);
    }
  }
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const std::size_t first = leaves[i] * kLeaves;
    leaves[i] = first + Child<float, kLeaves>(leaves_.data() + first, &masses[i]);
  }
}

}  // namespace murmurate
