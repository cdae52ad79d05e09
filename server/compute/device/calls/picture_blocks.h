// Pictures in blocks (server/device/device_input.h), and the filters of a convolution over them.
#pragma once

#include <cstddef>

#include "server/compute/device/kernel_list.h"

namespace murmurate {

/// The weight of a convolution, whose window is a picture of kernel x kernel pixels with `floats`
/// (channels x filters) numbers each, into blocks or back. One thread a number.
struct BlockFiltersCall {
  static constexpr KernelId kKernel = KernelId::kBlockFilters;
  const float* from;
  float* to;
  int kernel, block, floats;
  bool back;  ///< from blocks to lines
};

}  // namespace murmurate
