// Random: the one source of pseudo-random numbers; the same seed gives the same numbers everywhere.
//
// xoshiro256++ 1.0 (Blackman and Vigna, "Scrambled linear pseudorandom number generators", 2019),
// seeded by SplitMix64. The state is 32 bytes of plain data. Not for keys.
#pragma once

#include <array>
#include <cstdint>

namespace murmurate {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t Next() {
    const std::uint64_t result = Rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = Rotate(state_[3], 45);
    return result;
  }

  /// Uniform in [0, 1), 24 random bits.
  float Uniform() { return static_cast<float>(Next() >> 40) * 0x1p-24f; }
  /// Uniform in [0, 1), 53 random bits.
  double UniformDouble() { return static_cast<double>(Next() >> 11) * 0x1p-53; }
  /// Uniform in [0, bound); bound > 0 (Lemire's multiply-shift, bias below 2^-32).
  std::uint32_t UniformInt(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((Next() >> 32) * bound) >> 32);
  }
  /// Standard normal (Box-Muller, one of the pair kept for the next call); the same bits on every
  /// processor, too.
  double Normal();

  /// All that decides what comes next, to be saved and given to another Random: the four words,
  /// whether a normal is kept, and its bits.
  using Words = std::array<std::uint64_t, 6>;
  Words Saved() const;
  void GoOnFrom(const Words& saved);

 private:
  static std::uint64_t Rotate(std::uint64_t x, int k) { return (x << k) | (x >> (64 - k)); }
  std::array<std::uint64_t, 4> state_;
  double spare_normal_ = 0.0;
  bool has_spare_ = false;
};

/// A seed of its own for each `index`, from one `seed` (SplitMix64 of both).
std::uint64_t DeriveSeed(std::uint64_t seed, std::uint64_t index);
/// 64 bits from the operating system: incarnations and sender ids, never training.
std::uint64_t RandomIdentity();

}  // namespace murmurate
