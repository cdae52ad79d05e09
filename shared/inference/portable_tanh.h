// PortableTanh: the same bits wherever it runs, which a libm that picks its own code for the
// processor does not promise.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>

namespace murmurate {

/// exp(x) to 1e-15 of it, x held within [-700, 700], by additions, products and one conversion.
inline double PortableExp(double x) {
  x = std::clamp(x, -700.0, 700.0);
  const double n = std::floor(x * std::numbers::log2e + 0.5);
  // ln 2 in two parts, the first of which times n is exact.
  const double r = (x - n * 0x1.62e42fee00000p-1) - n * 0x1.a39ef35793c76p-33;
  double sum = 1;
  for (int i = 13; i > 0; --i) sum = 1 + sum * r / i;  // Taylor: |r| <= 0.35, the rest < 1e-17
  return std::ldexp(sum, static_cast<int>(n));
}

inline double PortableTanh(double x) {
  const double e = PortableExp(-2 * x);
  return (1 - e) / (1 + e);
}

}  // namespace murmurate
