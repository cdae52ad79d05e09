// Vectors of 4 floats in plain C++ (the vector types of GCC and Clang, for any processor): the
// fallback, and one of the three that the tests compare.
#pragma once

#include <cstddef>
#include <cstdint>

#define MURMURATE_KERNEL_SET kPlain  // the member of a table that this file's functions make

namespace murmurate {
namespace {

constexpr int kLanes = 4;
constexpr int kTileRows = 4, kTileVectors = 2;
constexpr int kBlock = 4;
using Vector = float __attribute__((vector_size(16)));
using Mask = std::int32_t __attribute__((vector_size(16)));  // all bits of a lane, or none

inline Mask FirstLanes(int count) { return Mask{count, count, count, count} > Mask{0, 1, 2, 3}; }
inline Vector Splat(float x) { return Vector{x, x, x, x}; }
inline Vector Load(const float* p) {
  Vector x;
  __builtin_memcpy(&x, p, sizeof(x));
  return x;
}
inline Vector LoadPart(const float* p, Mask mask) {
  Vector x{};
  for (int i = 0; i < kLanes; ++i)
    if (mask[i]) x[i] = p[i];
  return x;
}
inline Vector LoadBytes(const std::uint8_t* p) {
  return __builtin_convertvector(Mask{p[0], p[1], p[2], p[3]}, Vector);
}
inline Vector LoadBytesPart(const std::uint8_t* p, int count) {
  std::uint8_t bytes[kLanes] = {};
  for (int i = 0; i < count; ++i) bytes[i] = p[i];
  return LoadBytes(bytes);
}
inline void Store(float* p, Vector x) { __builtin_memcpy(p, &x, sizeof(x)); }
inline void StorePart(float* p, Mask mask, Vector x) {
  for (int i = 0; i < kLanes; ++i)
    if (mask[i]) p[i] = x[i];
}
inline Vector MulAdd(Vector a, Vector b, Vector c) { return a * b + c; }
inline Vector Min(Vector a, Vector b) { return a < b ? a : b; }
inline Vector Max(Vector a, Vector b) { return a > b ? a : b; }
inline Vector Sqrt(Vector x) {
  return Vector{__builtin_sqrtf(x[0]), __builtin_sqrtf(x[1]), __builtin_sqrtf(x[2]),
                __builtin_sqrtf(x[3])};
}
inline float Sum(Vector x) { return (x[0] + x[1]) + (x[2] + x[3]); }
inline void SumEach(const Vector (&x)[4], float* sums) {
  for (int i = 0; i < 4; ++i) sums[i] = Sum(x[i]);
}
inline Mask Greater(Vector a, Vector b) { return a > b; }
inline Mask Equal(Vector a, Vector b) { return a == b; }
inline Vector Select(Mask mask, Vector yes, Vector no) { return mask ? yes : no; }
/// Adding 1.5 * 2^23 leaves no bits for a fraction (|x| < 2^22).
inline Vector Round(Vector x) { return (x + Splat(0x1.8p23f)) - Splat(0x1.8p23f); }
/// x 2^n for integral n in [-126, 127].
inline Vector ScaleByPower(Vector x, Vector n) {
  const Mask bits = (__builtin_convertvector(n, Mask) + 127) << 23;
  Vector power;
  __builtin_memcpy(&power, &bits, sizeof(power));
  return x * power;
}
/// x = mantissa 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)), for normal x > 0.
inline Vector Mantissa(Vector x, Vector* exponent) {
  Mask bits;
  __builtin_memcpy(&bits, &x, sizeof(bits));
  const Mask n = (bits - 0x3f3504f3) >> 23;
  *exponent = __builtin_convertvector(n, Vector);
  bits -= n << 23;
  __builtin_memcpy(&x, &bits, sizeof(bits));
  return x;
}
inline Vector Gather(const float* p, int stride, Mask mask) {
  Vector x{};
  for (int i = 0; i < kLanes; ++i)
    if (mask[i]) x[i] = p[static_cast<std::ptrdiff_t>(i) * stride];
  return x;
}
inline void Scatter(float* p, int stride, Mask mask, Vector x) {
  for (int i = 0; i < kLanes; ++i)
    if (mask[i]) p[static_cast<std::ptrdiff_t>(i) * stride] = x[i];
}
inline Vector LoadIntegers(const std::int32_t* p, Mask mask) {
  Mask x{};
  for (int i = 0; i < kLanes; ++i)
    if (mask[i]) x[i] = p[i];
  return __builtin_convertvector(x, Vector);
}
inline void TransposeBlock(const float* from, std::ptrdiff_t from_stride, float* to,
                           std::ptrdiff_t to_stride) {
  for (int i = 0; i < kBlock; ++i)
    for (int j = 0; j < kBlock; ++j) to[j * to_stride + i] = from[i * from_stride + j];
}

}  // namespace
}  // namespace murmurate
