// A convex problem with a known optimum, f(x) = 1/2 sum_j h_j (x_j - o_j)^2, for tests of rules.
#pragma once

#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "shared/core/random.h"

namespace murmurate {

struct Quadratic {
  /// Curvatures in [0.2, 1), an optimum and a start in [-1, 1).
  Quadratic(std::size_t count, std::uint64_t seed) : random(seed) {
    for (std::size_t j = 0; j < count; ++j) {
      curvature.push_back(0.2f + 0.8f * random.Uniform());
      optimum.push_back(2.0f * random.Uniform() - 1.0f);
      start.push_back(2.0f * random.Uniform() - 1.0f);
    }
  }

  /// out = g(x) + `noise` times something uniform in [-1, 1).
  void Gradient(std::span<const float> x, float noise, std::span<float> out) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      out[j] = curvature[j] * (x[j] - optimum[j]);
      if (noise > 0.0f) out[j] += noise * (2.0f * random.Uniform() - 1.0f);
    }
  }

  double DistanceToOptimum(std::span<const float> x) const {
    double sum = 0.0;
    for (std::size_t j = 0; j < x.size(); ++j)
      sum += std::pow(double{x[j]} - double{optimum[j]}, 2.0);
    return std::sqrt(sum);
  }

  Random random;
  std::vector<float> curvature, optimum, start;
};

inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace murmurate
