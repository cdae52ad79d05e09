// Value rescaling: values of returns of any size learned on a scale that grows with their root,
//
//   h(x) = sign(x) (sqrt(|x| + 1) - 1) + epsilon x,   epsilon = 1e-3
//   h^-1(x) = sign(x) (((sqrt(1 + 4 epsilon (|x| + 1 + epsilon)) - 1) / (2 epsilon))^2 - 1)
//
// (Pohlen et al. 2018, "Observe and Look Further", arXiv 1805.11593, proposition A.2; as in R2D2,
// Kapturowski et al. 2019). h is odd and rises everywhere; |x| is about 2 |h(x)| near 0. A target
// is h(sum of rewards + gamma^n h^-1(Q)).
#pragma once

#include <cmath>

namespace murmurate {

inline constexpr double kRescalingEpsilon = 1e-3;

inline double Rescaled(double value) {
  return std::copysign(std::sqrt(std::abs(value) + 1.0) - 1.0, value) + kRescalingEpsilon * value;
}

/// The root's difference from 1 is written as a quotient: nothing cancels for small values.
inline double RescaledBack(double rescaled) {
  constexpr double kEpsilon = kRescalingEpsilon;
  const double inside = 4.0 * kEpsilon * (std::abs(rescaled) + 1.0 + kEpsilon);
  const double root = inside / (std::sqrt(1.0 + inside) + 1.0) / (2.0 * kEpsilon);
  return std::copysign((root - 1.0) * (root + 1.0), rescaled);
}

}  // namespace murmurate
