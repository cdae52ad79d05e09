// What a GPU forbids ends the program on a host device.
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "server/compute/device/calls/layers.h"
#include "tests/device/call_pointers.h"
#include "tests/device/device_numbers.h"

namespace murmurate {
namespace {

class HostDeviceDeathTest : public testing::Test {
 protected:
  HostDevice device_;
  const DeviceNumbers y_{&device_, {1, 2, 3, 4, 5}};
  float host_ = 0;
};

TEST_F(HostDeviceDeathTest, TheHostTouchesDeviceMemory) {
  EXPECT_DEATH(host_ += *y_.data(), "");
  EXPECT_DEATH(*y_.data() = 1, "");
}

TEST_F(HostDeviceDeathTest, AKernelIsGivenHostMemory) {
  if (!kChecksPointers) GTEST_SKIP() << "a sanitizer's memory is everywhere";
  EXPECT_DEATH(device_.Launch(Stream::kMain, Grid::For(1),
                              BiasActivationCall{.y = y_.data(),
                                                 .bias = &host_,
                                                 .rows = 1,
                                                 .columns = 1,
                                                 .activation = DeviceActivation::kNone}),
               "kernel BiasActivation: byte 8 of its call begins the address of memory that the "
               "device does not have");
}

TEST_F(HostDeviceDeathTest, ACopyGoesTheWrongWay) {
  EXPECT_DEATH(device_.CopyIn(Stream::kMain, &host_, y_.data(), 4),
               "CopyIn writes memory of the dev");
  EXPECT_DEATH(device_.CopyOut(Stream::kMain, y_.data(), &host_, 4),
               "CopyOut reads memory of the d");
  EXPECT_DEATH(device_.CopyIn(Stream::kMain, y_.data(), y_.data(), 4),
               "CopyIn reads memory of the h");
  EXPECT_DEATH(device_.CopyOut(Stream::kMain, y_.data(), y_.data(), 4),
               "CopyOut writes memory of th");
  EXPECT_DEATH(device_.ClearMemory(Stream::kMain, &host_, 4),
               "ClearMemory writes memory of the dev");
  EXPECT_DEATH(device_.ClearMemory(Stream::kMain, y_.data(), 21),
               "ClearMemory writes memory of the");
}

TEST_F(HostDeviceDeathTest, AProductReadsPastItsMemory) {
  EXPECT_DEATH(device_.Multiply(Stream::kMain, {.rows = 1,
                                                .columns = 1,
                                                .depth = 6,
                                                .a = y_.data(),
                                                .a_stride = 6,
                                                .b = y_.data(),
                                                .b_stride = 1,
                                                .c = y_.data(),
                                                .c_stride = 1}),
               "a product's a is memory of the device");
}

TEST_F(HostDeviceDeathTest, AGraphHoldsWhatItCannot) {
  const DeviceEvent event = device_.MakeEvent();
  device_.BeginGraph(Stream::kMain);
  EXPECT_DEATH(device_.CopyIn(Stream::kMain, y_.data(), &host_, 4), "are not part of a graph");
  EXPECT_DEATH(device_.CopyOut(Stream::kMain, &host_, y_.data(), 4), "are not part of a graph");
  EXPECT_DEATH(device_.Record(Stream::kMain, event), "events are not part of a graph");
  EXPECT_DEATH(device_.WaitFor(Stream::kMain, event), "events are not part of a graph");
  EXPECT_DEATH(device_.Free(y_.data()), "Free is not part of a graph");
  EXPECT_DEATH(device_.BeginGraph(Stream::kCopy), "one graph is recorded at a time");
  EXPECT_DEATH(device_.EndGraph(Stream::kCopy), "on the stream that it began on");
  EXPECT_DEATH(device_.Replay(Stream::kCopy, 0), "the graph was recorded");
  device_.EndGraph(Stream::kMain);
}

TEST_F(HostDeviceDeathTest, AnEventIsUsedThatWasGivenBack) {
  const DeviceEvent event = device_.MakeEvent();
  device_.DropEvent(event);
  (void)device_.MakeEvent();
  EXPECT_DEATH(device_.Record(Stream::kMain, event), "not dropped");
  EXPECT_DEATH(device_.Await(event), "not dropped");
}

TEST_F(HostDeviceDeathTest, PinnedMemoryIsFreedBeforeItIsCopied) {
  std::byte* const pinned = device_.AllocatePinned(512);
  device_.CopyOut(Stream::kMain, pinned + 256, y_.data(), 4);
  EXPECT_DEATH(device_.FreePinned(pinned), "pinned memory stays until it is copied");
  device_.Finish();
  device_.FreePinned(pinned);
}

TEST_F(HostDeviceDeathTest, AKernelWritesPastItsMemory) {
#ifdef __SANITIZE_ADDRESS__
  EXPECT_DEATH(
      {
        device_.Launch(Stream::kMain, Grid::For(6),
                       BiasActivationCall{.y = y_.data(),
                                          .bias = nullptr,
                                          .rows = 6,
                                          .columns = 1,
                                          .activation = DeviceActivation::kNone});
        device_.Finish();
      },
      "use-after-poison");
#else
  GTEST_SKIP() << "only AddressSanitizer sees a single number";
#endif
}

TEST_F(HostDeviceDeathTest, AKernelReadsThePageBehindItsMemory) {
  const DeviceNumbers whole(&device_, std::vector<float>(64));  // 256 bytes: the page ends here
  EXPECT_DEATH(
      {
        device_.Launch(Stream::kMain, Grid::For(65),
                       BiasActivationCall{.y = whole.data(),
                                          .bias = nullptr,
                                          .rows = 65,
                                          .columns = 1,
                                          .activation = DeviceActivation::kNone});
        device_.Finish();
      },
      "");
}

}  // namespace
}  // namespace murmurate
