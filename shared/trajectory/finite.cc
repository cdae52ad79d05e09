#include "shared/trajectory/finite.h"

#include <bit>
#include <cstdint>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace murmurate {
namespace {

/// Infinities and NaN have every exponent bit set, so one more carries into the sign bit. Three
/// operations a number and no branch: any vector unit runs it as fast as memory delivers.
constexpr std::uint32_t kMagnitude = 0x7fffffffu, kOneExponent = 0x00800000u, kCarry = 0x80000000u;

std::uint32_t Carry(float value) {
  return (std::bit_cast<std::uint32_t>(value) & kMagnitude) + kOneExponent;
}

bool CopyOrdinary(float* __restrict destination, std::span<const float> source) {
  std::uint32_t carried = 0;
  for (std::size_t i = 0; i < source.size(); ++i) {
    carried |= Carry(source[i]);
    destination[i] = source[i];
  }
  return (carried & kCarry) == 0;
}

#ifdef __SSE2__
/// `destination` lies on a 16-byte border.
bool CopyPastCache(float* destination, std::span<const float> source) {
  constexpr std::size_t kLine = 16, kStep = 4;  // floats
  const __m128i magnitude = _mm_set1_epi32(kMagnitude), one = _mm_set1_epi32(kOneExponent);
  __m128i carried = _mm_setzero_si128();
  std::size_t done = 0;
  for (; done + kLine <= source.size(); done += kLine) {
    for (std::size_t i = done; i < done + kLine; i += kStep) {
      const __m128i four = _mm_loadu_si128(reinterpret_cast<const __m128i*>(source.data() + i));
      carried = _mm_or_si128(carried, _mm_add_epi32(_mm_and_si128(four, magnitude), one));
      _mm_stream_si128(reinterpret_cast<__m128i*>(destination + i), four);
    }
  }
  _mm_sfence();
  const bool finite = _mm_movemask_ps(_mm_castsi128_ps(carried)) == 0;
  return CopyOrdinary(destination + done, source.subspan(done)) && finite;
}
#endif

}  // namespace

bool AllFinite(std::span<const float> values) {
  std::uint32_t carried = 0;
  for (const float value : values) carried |= Carry(value);
  return (carried & kCarry) == 0;
}

bool CopyFinite(float* destination, std::span<const float> source, CopyKind kind) {
#ifdef __SSE2__
  const bool on_border = reinterpret_cast<std::uintptr_t>(destination) % sizeof(__m128i) == 0;
  if (kind == CopyKind::kPastCache && on_border) return CopyPastCache(destination, source);
#endif
  return CopyOrdinary(destination, source);
}

}  // namespace murmurate
