// The calls of shared/compute/max_pool.h's layer and its gradient.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/compute/device/calls/elements.h"
#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// A square window over NHWC pictures. A thread takes one number of a picture, of every
/// `image_rows`-th picture: Grid{.blocks = numbers of a picture / threads, .rows = image_rows}.
struct PoolGeometry {
  int height, width, channels;  ///< of the input
  int out_height, out_width;
  int kernel, stride, padding;
  int images, image_rows;
};

/// output <- the greatest number under the window; padding never wins, and of equal ones the first.
struct PoolCall {
  static constexpr KernelId kKernel = KernelId::kPool;
  PoolGeometry pool;
  const void* input;
  void* output;
  std::int32_t* winner;  ///< as output: where in its window, row * kernel + column
  ElementType type = ElementType::kFloat32;
};

/// d_input <- the sum of the gradients of all outputs that a number won, in their order.
struct PoolGradientCall {
  static constexpr KernelId kKernel = KernelId::kPoolGradient;
  PoolGeometry pool;
  const std::int32_t* winner;
  const void* d_output;
  void* d_input;
  ElementType type = ElementType::kFloat32;
};

}  // namespace murmurate
