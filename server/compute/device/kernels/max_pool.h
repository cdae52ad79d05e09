#pragma once

#include "server/compute/device/calls/max_pool.h"
#include "server/compute/device/kernel_language.h"

namespace murmurate {

/// A number of a picture, by its place in it.
struct PictureNumber {
  int y, x, channel;
};
MURMURATE_DEVICE PictureNumber NumberAt(int place, int width, int channels) {
  const int pixel = place / channels;
  return {pixel / width, pixel % width, place % channels};
}
/// Places of a window inside the picture: [begin, end) of its kernel.
struct PoolSpan {
  int begin, end;
};
MURMURATE_DEVICE PoolSpan InsidePicture(int start, int kernel, int size) {
  return {start < 0 ? -start : 0, start + kernel > size ? size - start : kernel};
}
/// Outputs whose window has `place`: [begin, end).
MURMURATE_DEVICE PoolSpan WindowsWith(int place, const PoolGeometry& pool, int outputs) {
  const int last = (place + pool.padding) / pool.stride, first = place + pool.padding - pool.kernel;
  return {first < 0 ? 0 : first / pool.stride + 1, last < outputs ? last + 1 : outputs};
}

template <typename T>
MURMURATE_DEVICE void PoolNumbers(const PoolCall& call) {
  const PoolGeometry& pool = call.pool;
  const std::size_t picture = static_cast<std::size_t>(pool.height) * pool.width * pool.channels;
  const std::size_t outputs =
      static_cast<std::size_t>(pool.out_height) * pool.out_width * pool.channels;
  const std::size_t place = GlobalThread();
  if (place >= outputs) return;
  const PictureNumber at = NumberAt(static_cast<int>(place), pool.out_width, pool.channels);
  const int top = at.y * pool.stride - pool.padding, left = at.x * pool.stride - pool.padding;
  const PoolSpan y = InsidePicture(top, pool.kernel, pool.height);
  const PoolSpan x = InsidePicture(left, pool.kernel, pool.width);
  for (int image = static_cast<int>(GridRow()); image < pool.images; image += pool.image_rows) {
    const T* const input = static_cast<const T*>(call.input) + image * picture + at.channel;
    float best = 0;
    int winner = -1;
    for (int ky = y.begin; ky < y.end; ++ky)
      for (int kx = x.begin; kx < x.end; ++kx) {
        const float value = Widened(
            input[(static_cast<std::size_t>(top + ky) * pool.width + left + kx) * pool.channels]);
        if (winner >= 0 && !(value > best)) continue;
        best = value;
        winner = ky * pool.kernel + kx;
      }
    static_cast<T*>(call.output)[image * outputs + place] = Narrowed<T>(best);
    call.winner[image * outputs + place] = winner;
  }
}

MURMURATE_KERNEL(Pool) {
  WithElements(call.type, [&](auto element) { PoolNumbers<decltype(element)>(call); });
}

template <typename T>
MURMURATE_DEVICE void PoolGradientNumbers(const PoolGradientCall& call) {
  const PoolGeometry& pool = call.pool;
  const std::size_t picture = static_cast<std::size_t>(pool.height) * pool.width * pool.channels;
  const std::size_t outputs =
      static_cast<std::size_t>(pool.out_height) * pool.out_width * pool.channels;
  const std::size_t place = GlobalThread();
  if (place >= picture) return;
  const PictureNumber at = NumberAt(static_cast<int>(place), pool.width, pool.channels);
  const PoolSpan y = WindowsWith(at.y, pool, pool.out_height);
  const PoolSpan x = WindowsWith(at.x, pool, pool.out_width);
  for (int image = static_cast<int>(GridRow()); image < pool.images; image += pool.image_rows) {
    const std::size_t first = image * outputs + at.channel;
    float sum = 0;
    for (int oy = y.begin; oy < y.end; ++oy)
      for (int ox = x.begin; ox < x.end; ++ox) {
        const int ky = at.y - oy * pool.stride + pool.padding;
        const int kx = at.x - ox * pool.stride + pool.padding;
        const std::size_t output =
            first + (static_cast<std::size_t>(oy) * pool.out_width + ox) * pool.channels;
        if (call.winner[output] == ky * pool.kernel + kx)
          sum += Widened(static_cast<const T*>(call.d_output)[output]);
      }
    static_cast<T*>(call.d_input)[image * picture + place] = Narrowed<T>(sum);
  }
}

MURMURATE_KERNEL(PoolGradient) {
  WithElements(call.type, [&](auto element) { PoolGradientNumbers<decltype(element)>(call); });
}

}  // namespace murmurate
