#pragma once

#include "server/compute/device/calls/picture_blocks.h"
#include "server/compute/device/kernel_language.h"

namespace murmurate {

/// The pixel, counted line by line, that lies at `place` of a picture in blocks.
MURMURATE_DEVICE int PixelInBlocks(int place, int width, int block) {
  const int area = block * block, across = width / block;
  const int square = place / area, within = place % area;
  const int y = square / across * block + within / block;
  const int x = square % across * block + within % block;
  return y * width + x;
}

MURMURATE_KERNEL(BlockFilters) {
  const std::size_t i = GlobalThread(), floats = static_cast<std::size_t>(call.floats);
  if (i >= floats * call.kernel * call.kernel) return;
  const int pixel = PixelInBlocks(static_cast<int>(i / floats), call.kernel, call.block);
  const std::size_t line = pixel * floats + i % floats;
  if (call.back)
    call.to[line] = call.from[i];
  else
    call.to[i] = call.from[line];
}

}  // namespace murmurate
