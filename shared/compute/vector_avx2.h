// Vectors of 8 floats: what dense_kernels_source.h and learner_kernels_source.h need of AVX2 with
// FMA. Everything is local to the file that includes it (vector_avx512.h says why).
#pragma once

#include <immintrin.h>

#include <cstdint>

#define MURMURATE_KERNEL_SET kAvx2  // the member of a table that this file's functions make

namespace murmurate {
namespace {

constexpr int kLanes = 8;
constexpr int kTileRows = 6, kTileVectors = 2;  // 12 sums, 2 columns and 1 factor in 16 registers
constexpr int kBlock = 8;
using Vector = __m256;
using Mask = __m256;  // all bits of a lane, or none

inline Mask FirstLanes(int count) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(count), lane));
}
inline Vector Splat(float x) { return _mm256_set1_ps(x); }
inline Vector Load(const float* p) { return _mm256_loadu_ps(p); }
inline Vector LoadPart(const float* p, Mask mask) {
  return _mm256_maskload_ps(p, _mm256_castps_si256(mask));
}
inline Vector LoadBytes(const std::uint8_t* p) {
  return _mm256_cvtepi32_ps(
      _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline Vector LoadBytesPart(const std::uint8_t* p, int count) {
  std::uint8_t bytes[kLanes] = {};
  for (int i = 0; i < count; ++i) bytes[i] = p[i];
  return LoadBytes(bytes);
}
inline void Store(float* p, Vector x) { _mm256_storeu_ps(p, x); }
inline void StorePart(float* p, Mask mask, Vector x) {
  _mm256_maskstore_ps(p, _mm256_castps_si256(mask), x);
}
inline Vector MulAdd(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
inline Vector Min(Vector a, Vector b) { return _mm256_min_ps(a, b); }
inline Vector Max(Vector a, Vector b) { return _mm256_max_ps(a, b); }
inline Vector Sqrt(Vector x) { return _mm256_sqrt_ps(x); }
inline float Sum(Vector x) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}
inline void SumEach(const Vector (&x)[4], float* sums) {
  const Vector a = _mm256_unpacklo_ps(x[0], x[1]) + _mm256_unpackhi_ps(x[0], x[1]);
  const Vector b = _mm256_unpacklo_ps(x[2], x[3]) + _mm256_unpackhi_ps(x[2], x[3]);
  const Vector c = _mm256_shuffle_ps(a, b, 0x44) + _mm256_shuffle_ps(a, b, 0xEE);
  _mm_storeu_ps(sums, _mm256_castps256_ps128(c) + _mm256_extractf128_ps(c, 1));
}
inline Mask Greater(Vector a, Vector b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
inline Mask Equal(Vector a, Vector b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
inline Vector Select(Mask mask, Vector yes, Vector no) { return _mm256_blendv_ps(no, yes, mask); }
inline Vector Round(Vector x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Vector ScaleByPower(Vector x, Vector n) {
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(x), exponent));
}
inline Vector Mantissa(Vector x, Vector* exponent) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i n = _mm256_srai_epi32(_mm256_sub_epi32(bits, _mm256_set1_epi32(0x3f3504f3)), 23);
  *exponent = _mm256_cvtepi32_ps(n);
  return _mm256_castsi256_ps(_mm256_sub_epi32(bits, _mm256_slli_epi32(n, 23)));
}
inline Vector Gather(const float* p, int stride, Mask mask) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_mask_i32gather_ps(_mm256_setzero_ps(), p,
                                  _mm256_mullo_epi32(lane, _mm256_set1_epi32(stride)), mask, 4);
}
inline void Scatter(float* p, int stride, Mask mask, Vector x) {
  alignas(32) float lanes[kLanes];
  _mm256_store_ps(lanes, x);
  const int bits = _mm256_movemask_ps(mask);
  for (int i = 0; i < kLanes; ++i)
    if (bits >> i & 1) p[static_cast<std::ptrdiff_t>(i) * stride] = lanes[i];
}
inline Vector LoadIntegers(const std::int32_t* p, Mask mask) {
  return _mm256_cvtepi32_ps(_mm256_maskload_epi32(p, _mm256_castps_si256(mask)));
}

}  // namespace
}  // namespace murmurate

#include "shared/compute/transpose_avx.h"
