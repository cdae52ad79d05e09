#include "shared/core/random.h"

#include <cmath>
#include <numbers>
#include <random>

namespace murmurate {
namespace {

std::uint64_t SplitMix(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed) {
  for (std::uint64_t& word : state_) word = SplitMix(seed);
}

double Random::Normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2.0 * std::log(1.0 - UniformDouble()));
  const double angle = 2.0 * std::numbers::pi * UniformDouble();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

std::uint64_t DeriveSeed(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t state = seed;
  state = SplitMix(state) ^ index;
  return SplitMix(state);
}

std::uint64_t RandomIdentity() {
  std::random_device device;
  std::uint64_t identity = 0;
  while (identity == 0) identity = (std::uint64_t{device()} << 32) | device();
  return identity;
}

}  // namespace murmurate
