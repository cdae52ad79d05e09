// Rows and places: walking over rows of any length in vectors and over pictures in windows. Local
// to the file that includes it after vector_SET.h (vector_avx512.h says why).
#pragma once

#include <cstddef>
#include <cstdint>

#include "shared/compute/window.h"

namespace murmurate {
namespace {

using Stride = std::ptrdiff_t;

/// body(j, mask) for each vector of a row of `count` numbers.
template <typename Body>
[[gnu::always_inline]] inline void EachPart(int count, const Body& body) {
  int j = 0;
  const Mask whole = FirstLanes(kLanes);
  for (; j + kLanes <= count; j += kLanes) body(j, whole);
  if (j < count) body(j, FirstLanes(count - j));
}

inline void CopyRow(const float* from, int count, float* to) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(to + i, Load(from + i));
  if (i == count) return;
  const Mask part = FirstLanes(count - i);
  StorePart(to + i, part, LoadPart(from + i, part));
}

inline void CopyRow(const std::uint8_t* from, int count, float* to) {
  constexpr float kScale = 1.0f / 255.0f;
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(to + i, LoadBytes(from + i) * Splat(kScale));
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]) * kScale;
}

inline void ZeroRow(int count, float* to) {
  for (int i = 0; i < count; ++i) to[i] = 0.0f;
}

inline void AddRow(const float* from, int count, float* to) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(to + i, Load(to + i) + Load(from + i));
  if (i == count) return;
  const Mask part = FirstLanes(count - i);
  StorePart(to + i, part, LoadPart(to + i, part) + LoadPart(from + i, part));
}

/// An output position: of which image, and where.
struct Place {
  int image, y, x;
};

inline Place PlaceOf(int position, const Extent& out) {
  const int picture = out.height * out.width, rest = position % picture;
  return {position / picture, rest / out.width, rest % out.width};
}

inline void Advance(const Extent& out, Place* place) {
  if (++place->x < out.width) return;
  place->x = 0;
  if (++place->y < out.height) return;
  place->y = 0;
  ++place->image;
}

/// Of `kernel` numbers from `start` on, those that lie in [0, size): begin .. end - 1.
struct Span {
  int start, begin, end;
};

inline Span Inside(int start, int kernel, int size) {
  const int begin = start < 0 ? -start : 0;
  const int end = size - start < kernel ? size - start : kernel;
  return {start, begin < kernel ? begin : kernel, end > 0 ? end : 0};
}

}  // namespace
}  // namespace murmurate
