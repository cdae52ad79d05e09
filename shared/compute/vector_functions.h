// The functions that activations and losses are made of, over the vectors of whichever vector_SET.h
// came first. Local to the file that includes it (vector_avx512.h says why).
#pragma once

#include "shared/compute/dense_kernels.h"

namespace murmurate {
namespace {

/// x P(x^2) / Q(x^2), the form of Eigen's generic_fast_tanh_float; coefficients refitted by
/// weighted least squares over |x| <= 8.2, where tanh is 1 - 1.5e-7, and scaled so that Q's first
/// is 1 (an addition instead of a multiply-add: those are what the units are short of). Error
/// below 3.5e-7, nearly all of it rounding; 5e-8 in the mean.
inline Vector Tanh(Vector x) {
  x = Max(Min(x, Splat(8.2f)), Splat(-8.2f));
  const Vector z = x * x;
  Vector p = MulAdd(z, Splat(0.017729340121150017f), Splat(25.849163055419922f));
  p = MulAdd(z, p, Splat(4249.03662109375f));
  p = MulAdd(z, p, Splat(160468.59375f));
  p = MulAdd(z, p, Splat(1194663.25f));
  Vector q = z + Splat(404.56475830078125f);
  q = MulAdd(z, q, Splat(31190.603515625f));
  q = MulAdd(z, q, Splat(558689.625f));
  q = MulAdd(z, q, Splat(1194663.375f));
  return x * p / q;
}

/// Cephes expf (Moshier): 2^n times a polynomial on |r| <= ln(2) / 2. Error below 2 units in the
/// last place; arguments are held within [-86, 88], so that the result is normal.
inline Vector Exp(Vector x) {
  x = Max(Min(x, Splat(88.0f)), Splat(-86.0f));
  const Vector n = Round(x * Splat(1.44269504088896341f));
  Vector r = MulAdd(n, Splat(-0.693359375f), x);
  r = MulAdd(n, Splat(2.12194440e-4f), r);
  Vector y = MulAdd(r, Splat(1.9875691500e-4f), Splat(1.3981999507e-3f));
  y = MulAdd(r, y, Splat(8.3334519073e-3f));
  y = MulAdd(r, y, Splat(4.1665795894e-2f));
  y = MulAdd(r, y, Splat(1.6666665459e-1f));
  y = MulAdd(r, y, Splat(5.0000001201e-1f));
  return ScaleByPower(MulAdd(y, r * r, r) + Splat(1.0f), n);
}

/// Cephes logf, for normal x > 0.
inline Vector Log(Vector x) {
  Vector n;
  const Vector f = Mantissa(x, &n) - Splat(1.0f), square = f * f;
  Vector y = MulAdd(f, Splat(7.0376836292e-2f), Splat(-1.1514610310e-1f));
  y = MulAdd(f, y, Splat(1.1676998740e-1f));
  y = MulAdd(f, y, Splat(-1.2420140846e-1f));
  y = MulAdd(f, y, Splat(1.4249322787e-1f));
  y = MulAdd(f, y, Splat(-1.6668057665e-1f));
  y = MulAdd(f, y, Splat(2.0000714765e-1f));
  y = MulAdd(f, y, Splat(-2.4999993993e-1f));
  y = MulAdd(f, y, Splat(3.3333331174e-1f));
  y = MulAdd(n, Splat(-2.12194440e-4f), y * f * square);
  y = MulAdd(square, Splat(-0.5f), y);
  return MulAdd(n, Splat(0.693359375f), f + y);
}

/// Exact to rounding on both sides; never an infinity, never a denormal number.
inline Vector Sigmoid(Vector x) {
  const Vector e = Exp(Min(Splat(0.0f) - x, Splat(86.0f)));
  return Splat(1.0f) / (Splat(1.0f) + e);
}

inline Vector Elu(Vector x) {
  const Vector zero = Splat(0.0f);
  return Select(Greater(x, zero), x, Exp(Min(x, zero)) - Splat(1.0f));
}

constexpr bool IsGradient(Epilogue kind) {
  return kind == Epilogue::kTanhGradient || kind == Epilogue::kReluGradient ||
         kind == Epilogue::kEluGradient || kind == Epilogue::kSigmoidGradient;
}

template <Epilogue kKind>
inline Vector Apply(Vector x, Vector y) {
  const Vector zero = Splat(0.0f), one = Splat(1.0f);
  if constexpr (kKind == Epilogue::kTanh) return Tanh(x);
  if constexpr (kKind == Epilogue::kRelu) return Max(x, zero);
  if constexpr (kKind == Epilogue::kElu) return Elu(x);
  if constexpr (kKind == Epilogue::kSigmoid) return Sigmoid(x);
  if constexpr (kKind == Epilogue::kTanhGradient) return x * (one - y * y);
  if constexpr (kKind == Epilogue::kReluGradient) return Select(Greater(y, zero), x, zero);
  if constexpr (kKind == Epilogue::kEluGradient) return x * Min(y + one, one);
  if constexpr (kKind == Epilogue::kSigmoidGradient) return x * (y * (one - y));
  return x;
}

}  // namespace
}  // namespace murmurate
