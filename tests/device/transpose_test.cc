// The kernel that turns a convolution's weights over, at every edge of its tiles.
#include "server/compute/device/calls/transpose.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/device/device_numbers.h"

namespace murmurate {
namespace {

TEST(Transpose, TurnsAnySizeOver) {
  for (const auto& [rows, columns] : std::initializer_list<std::pair<int, int>>{
           {1, 1}, {3, 5}, {31, 33}, {32, 32}, {33, 1}, {1, 65}, {40, 20}}) {
    HostDevice device({.seed = 2});
    std::vector<float> from(static_cast<std::size_t>(rows * columns)), expected(from.size());
    std::iota(from.begin(), from.end(), 1.0f);
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column)
        expected[static_cast<std::size_t>(column * rows + row)] =
            from[static_cast<std::size_t>(row * columns + column)];
    const DeviceNumbers source(&device, from);
    const DeviceNumbers target(&device, DeviceNumbers::Count{from.size()});
    const TransposeCall call{source.data(), target.data(), rows, columns};
    device.Launch(Stream::kMain, TransposeGrid(call), call);
    EXPECT_EQ(target.Read(), expected) << rows << " x " << columns;
  }
}

}  // namespace
}  // namespace murmurate
