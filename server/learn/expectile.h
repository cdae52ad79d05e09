// What implicit Q-learning learns by instead of the best action (Kostrikov et al. 2021, arXiv
// 2110.06169, equations 5 and 7): the expectile of the values of recorded actions, and weights by
// their advantages.
#pragma once

#include <algorithm>
#include <cmath>

namespace murmurate {

/// |tau - 1(u < 0)|: with tau = 0.5 half of the squared error; with a larger one an error below 0
/// counts less than one above it.
inline double ExpectileFactor(double u, double tau) { return u < 0.0 ? 1.0 - tau : tau; }

/// L(u) = |tau - 1(u < 0)| u^2: its mean over u = q - v is least where v is the tau-expectile of q.
inline double ExpectileLoss(double u, double tau) { return ExpectileFactor(u, tau) * u * u; }

/// dL/dv of u = q - v.
inline double ExpectileSlope(double u, double tau) { return -2.0 * ExpectileFactor(u, tau) * u; }

/// exp(beta advantage), at most `most`; NaN of a NaN.
inline double AdvantageWeight(double advantage, double beta, double most) {
  const double exponent = beta * advantage;
  return exponent > std::log(most) ? most : std::exp(exponent);
}

}  // namespace murmurate
