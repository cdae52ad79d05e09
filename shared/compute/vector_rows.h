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

/// Writes whole vectors: `to` has room for kLanes - 1 floats more, which change.
[[gnu::always_inline]] inline void CopyRow(const float* from, int count, float* to) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(to + i, Load(from + i));
  if (i < count) Store(to + i, LoadPart(from + i, FirstLanes(count - i)));
}

/// The same from bytes, times 1 / 255.
[[gnu::always_inline]] inline void CopyRow(const std::uint8_t* from, int count, float* to) {
  const Vector scale = Splat(1.0f / 255.0f);
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) Store(to + i, LoadBytes(from + i) * scale);
  if (i < count) Store(to + i, LoadBytesPart(from + i, count - i) * scale);
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
struct Point {
  int image, y, x;
};

inline Point PointAt(int position, const Extent& out) {
  const int picture = out.height * out.width, rest = position % picture;
  return {position / picture, rest / out.width, rest % out.width};
}

inline void Advance(const Extent& out, Point* point) {
  if (++point->x < out.width) return;
  point->x = 0;
  if (++point->y < out.height) return;
  point->y = 0;
  ++point->image;
}

/// The part [begin, end) of `kernel` numbers from `start` on that lies in [0, size).
struct Span {
  int start, begin, end;
};

inline Span Inside(int start, int kernel, int size) {
  const int begin = start < 0 ? -start : 0;
  const int end = size - start < kernel ? size - start : kernel;
  return {start, begin < kernel ? begin : kernel, end > 0 ? end : 0};
}

/// The first number under a window that lies inside the picture, or null.
template <typename Element>
inline Element* Interior(const Window& w, const Point& point, Element* image) {
  const int top = point.y * w.stride.height - w.padding.height;
  const int left = point.x * w.stride.width - w.padding.width;
  if (top < 0 || left < 0 || top > w.height - w.kernel.height || left > w.width - w.kernel.width)
    return nullptr;
  return image + (Stride{top} * w.width + left) * w.channels;
}

}  // namespace
}  // namespace murmurate
