// Vectors of 16 floats: what dense_kernels_source.h and learner_kernels_source.h need of AVX-512.
// Everything is local to the file that includes it: code for one processor must never be merged
// with code for another.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define MURMURATE_KERNEL_SET kAvx512  // the member of a table that this file's functions make

namespace murmurate {
namespace {

constexpr int kLanes = 16;
constexpr int kTileRows = 6, kTileVectors = 4;  // 24 sums, 4 columns and 1 factor in 32 registers
constexpr int kBlock = 8;                       // side of the square that TransposeBlock turns
using Vector = __m512;
using Mask = __mmask16;

inline Mask FirstLanes(int count) { return static_cast<Mask>((1u << count) - 1); }
inline Vector Splat(float x) { return _mm512_set1_ps(x); }
inline Vector Load(const float* p) { return _mm512_loadu_ps(p); }
inline Vector LoadPart(const float* p, Mask mask) { return _mm512_maskz_loadu_ps(mask, p); }
/// kLanes bytes as floats.
inline Vector LoadBytes(const std::uint8_t* p) {
  return _mm512_cvtepi32_ps(
      _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
/// The first `count` bytes, zeros behind them.
inline Vector LoadBytesPart(const std::uint8_t* p, int count) {
  return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(FirstLanes(count), p)));
}
inline void Store(float* p, Vector x) { _mm512_storeu_ps(p, x); }
inline void StorePart(float* p, Mask mask, Vector x) { _mm512_mask_storeu_ps(p, mask, x); }
inline Vector MulAdd(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
inline Vector Min(Vector a, Vector b) { return _mm512_min_ps(a, b); }
inline Vector Max(Vector a, Vector b) { return _mm512_max_ps(a, b); }
inline Vector Sqrt(Vector x) { return _mm512_sqrt_ps(x); }
inline float Sum(Vector x) { return _mm512_reduce_add_ps(x); }
/// Four sums at once: the lanes of each are added by the same shuffles.
inline void SumEach(const Vector (&x)[4], float* sums) {
  const Vector a = _mm512_unpacklo_ps(x[0], x[1]) + _mm512_unpackhi_ps(x[0], x[1]);
  const Vector b = _mm512_unpacklo_ps(x[2], x[3]) + _mm512_unpackhi_ps(x[2], x[3]);
  const Vector c = _mm512_shuffle_ps(a, b, 0x44) + _mm512_shuffle_ps(a, b, 0xEE);
  const __m256 half = _mm512_castps512_ps256(c) + _mm512_extractf32x8_ps(c, 1);
  _mm_storeu_ps(sums, _mm256_castps256_ps128(half) + _mm256_extractf128_ps(half, 1));
}
inline Mask Greater(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
inline Mask Equal(Vector a, Vector b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
inline Vector Select(Mask mask, Vector yes, Vector no) {
  return _mm512_mask_blend_ps(mask, no, yes);
}
inline Vector Round(Vector x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
/// x 2^n for integral n in [-126, 127].
inline Vector ScaleByPower(Vector x, Vector n) {
  const __m512i exponent = _mm512_slli_epi32(_mm512_cvtps_epi32(n), 23);
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(x), exponent));
}
/// x = mantissa 2^exponent with the mantissa in [sqrt(1/2), sqrt(2)), for normal x > 0.
inline Vector Mantissa(Vector x, Vector* exponent) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i n = _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(0x3f3504f3)), 23);
  *exponent = _mm512_cvtepi32_ps(n);
  return _mm512_castsi512_ps(_mm512_sub_epi32(bits, _mm512_slli_epi32(n, 23)));
}
/// Lane i: p[i * stride]; lanes beyond the mask are 0.
inline Vector Gather(const float* p, int stride, Mask mask) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), mask,
                                  _mm512_mullo_epi32(lane, _mm512_set1_epi32(stride)), p, 4);
}
inline void Scatter(float* p, int stride, Mask mask, Vector x) {
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  _mm512_mask_i32scatter_ps(p, mask, _mm512_mullo_epi32(lane, _mm512_set1_epi32(stride)), x, 4);
}
/// Integers to floats (exact below 2^24).
inline Vector LoadIntegers(const std::int32_t* p, Mask mask) {
  return _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(mask, p));
}

}  // namespace
}  // namespace murmurate

#include "shared/compute/transpose_avx.h"
