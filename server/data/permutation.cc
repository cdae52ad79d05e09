#include "server/data/permutation.h"

#include <algorithm>
#include <bit>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {

Permutation::Permutation(std::uint64_t n, std::uint64_t key) : n_(n) {
  MURMURATE_CHECK(n >= 1 && n <= (std::uint64_t{1} << 62), "nothing to put in order");
  const int bits = std::max(1, static_cast<int>(std::bit_width(n - 1)));
  mask_ = (std::uint64_t{1} << bits) - 1;
  shift_ = (bits + 1) / 2;
  Random random(key);
  for (int round = 0; round < kRounds; ++round) {
    xor_[round] = random.Next() & mask_;
    odd_[round] = random.Next() | 1;
  }
}

}  // namespace murmurate
