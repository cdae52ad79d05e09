#include "server/data/block_permutation.h"

#include <algorithm>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {

BlockPermutation::BlockPermutation(std::uint64_t n, std::uint64_t key, std::uint64_t block,
                                   std::uint64_t group)
    : n_(n),
      key_(key),
      block_(std::min(block, n)),
      whole_blocks_(block_ == 0 ? 0 : n / block_),
      group_items_(std::min(group, whole_blocks_ + 1) * block_),
      blocks_(std::max<std::uint64_t>(whole_blocks_, 1), DeriveSeed(key, 0)) {
  MURMURATE_CHECK(block_ >= 1 && group >= 1, "blocks of nothing");
}

std::uint64_t BlockPermutation::Unmixed(std::uint64_t i) const {
  const std::uint64_t block = i / block_;
  return block < whole_blocks_ ? blocks_(block) * block_ + i % block_ : i;
}

std::uint64_t BlockPermutation::operator()(std::uint64_t i) const {
  const std::uint64_t group = i / group_items_, first = group * group_items_;
  const Permutation mix(std::min(group_items_, n_ - first), DeriveSeed(key_, 1 + group));
  return Unmixed(first + mix(i - first));
}

}  // namespace murmurate
