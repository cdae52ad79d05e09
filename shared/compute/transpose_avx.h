// TransposeBlock for both AVX sets: 8 x 8 floats in registers.
#pragma once

#include <immintrin.h>

#include <cstddef>

namespace murmurate {
namespace {

inline __m256 Halves(const float* low, const float* high) {
  return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(low)), _mm_loadu_ps(high), 1);
}

/// to[j][i] = from[i][j] for i, j in 0..7; strides in floats.
inline void TransposeBlock(const float* from, std::ptrdiff_t from_stride, float* to,
                           std::ptrdiff_t to_stride) {
  for (int half = 0; half < 8; half += 4) {  // four columns of `from`, four rows of `to`
    __m256 row[4];
    for (int i = 0; i < 4; ++i)
      row[i] = Halves(from + i * from_stride + half, from + (i + 4) * from_stride + half);
    const __m256 a = _mm256_unpacklo_ps(row[0], row[1]), b = _mm256_unpackhi_ps(row[0], row[1]);
    const __m256 c = _mm256_unpacklo_ps(row[2], row[3]), d = _mm256_unpackhi_ps(row[2], row[3]);
    _mm256_storeu_ps(to + (half + 0) * to_stride, _mm256_shuffle_ps(a, c, 0x44));
    _mm256_storeu_ps(to + (half + 1) * to_stride, _mm256_shuffle_ps(a, c, 0xEE));
    _mm256_storeu_ps(to + (half + 2) * to_stride, _mm256_shuffle_ps(b, d, 0x44));
    _mm256_storeu_ps(to + (half + 3) * to_stride, _mm256_shuffle_ps(b, d, 0xEE));
  }
}

}  // namespace
}  // namespace murmurate
