// Permutation: a shuffled order of [0, n) that is not stored: any place of it is computed by
// itself, so a new epoch costs nothing, and threads share none of it.
//
// A bijection of b = ceil(log2 n) bits (four rounds of xor, odd product and shift, each of which is
// one), applied again while the result is not below n ("cycle walking"): less than two times on
// average. The same key gives the same order everywhere. For shuffling, not for secrets.
#pragma once

#include <array>
#include <cstdint>

namespace murmurate {

class Permutation {
 public:
  /// n >= 1
  Permutation(std::uint64_t n, std::uint64_t key);

  /// The number at place i < n.
  std::uint64_t operator()(std::uint64_t i) const {
    do i = Mix(i);
    while (i >= n_);
    return i;
  }

 private:
  static constexpr int kRounds = 4;
  std::uint64_t Mix(std::uint64_t x) const {
    for (int round = 0; round < kRounds; ++round) {
      x = ((x ^ xor_[round]) * odd_[round]) & mask_;
      x ^= x >> shift_;
    }
    return x;
  }

  std::uint64_t n_, mask_;
  int shift_;
  std::array<std::uint64_t, kRounds> xor_, odd_;
};

}  // namespace murmurate
