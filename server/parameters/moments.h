// Moments: count, mean and sum of squared deviations of numbers that were seen, in double; and how
// they go over a wire of floats, bit for bit.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace murmurate {

struct Moments {
  double count = 0, mean = 0, m2 = 0;

  double variance() const { return count > 0 ? m2 / count : 0.0; }
  /// Merges what others have seen by Chan's formula (Chan, Golub, LeVeque 1979).
  void Add(const Moments& other) {
    if (other.count == 0.0) return;
    const double total = count + other.count, delta = other.mean - mean;
    mean += delta * other.count / total;
    m2 += other.m2 + delta * delta * count * other.count / total;
    count = total;
  }
};

/// A word lies in so many floats: 16 bits each, which a float holds exactly.
inline constexpr std::size_t kWordFloats = 4;
inline void WriteWord(std::uint64_t word, std::span<float, kWordFloats> to) {
  for (std::size_t i = 0; i < kWordFloats; ++i)
    to[i] = static_cast<float>((word >> (16 * i)) & 0xffff);
}
/// Of what WriteWord wrote.
inline std::uint64_t ReadWord(std::span<const float, kWordFloats> from) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < kWordFloats; ++i)
    word |= static_cast<std::uint64_t>(from[i]) << (16 * i);
  return word;
}

inline constexpr std::size_t kMomentFloats = 3 * kWordFloats;
inline void WriteMoments(const Moments& moments, std::span<float> to) {
  WriteWord(std::bit_cast<std::uint64_t>(moments.count), to.subspan<0, kWordFloats>());
  WriteWord(std::bit_cast<std::uint64_t>(moments.mean), to.subspan<kWordFloats, kWordFloats>());
  WriteWord(std::bit_cast<std::uint64_t>(moments.m2), to.subspan<2 * kWordFloats, kWordFloats>());
}
/// Any floats may come from a wire: those that are no moments are read as none (count 0).
inline Moments ReadMoments(std::span<const float> from) {
  for (const float value : from.first<kMomentFloats>())
    if (!(value >= 0.0f && value <= 65535.0f)) return {};
  const Moments read{std::bit_cast<double>(ReadWord(from.subspan<0, kWordFloats>())),
                     std::bit_cast<double>(ReadWord(from.subspan<kWordFloats, kWordFloats>())),
                     std::bit_cast<double>(ReadWord(from.subspan<2 * kWordFloats, kWordFloats>()))};
  const bool good = std::isfinite(read.count) && std::isfinite(read.mean) &&
                    std::isfinite(read.m2) && read.count >= 0.0 && read.m2 >= 0.0;
  return good ? read : Moments();
}

/// The moments of the numbers that several have seen, each in kMomentFloats of `parts`, merged in
/// the order given. Of one part that has seen any, exactly its.
inline Moments SumMoments(std::span<const std::span<const float>> parts) {
  Moments sum;
  for (const auto& part : parts) {
    const Moments one = ReadMoments(part);
    if (sum.count == 0.0)
      sum = one;
    else
      sum.Add(one);
  }
  return sum;
}

}  // namespace murmurate
