// Barriers, shuffles, shared arrays and the order of threads, with kernels of the test's own.
#include "tests/device/fiber_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tests/device/test_kernels.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kSeeds[] = {0, 1, 2, 3};

template <typename Call>
void RunKernel(std::uint64_t seed, const HostKernel& kernel, const Grid& grid, const Call& call) {
  FiberRunner runner(seed);
  ASSERT_EQ(kernel.call_bytes, sizeof call);
  runner.Run(kernel, grid, &call);
}

TEST(FiberRunner, SumsOverBlocksInAFixedOrder) {
  for (const std::uint64_t seed : kSeeds) {
    constexpr Grid kGrid = {.blocks = 3, .rows = 2, .threads = 256};
    std::vector<float> x(768), sums(6), first;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
    RunKernel(seed, kBlockSum, kGrid, BlockSumCall{x.data(), sums.data()});
    if (first.empty()) first = sums;
    EXPECT_EQ(sums, first) << "every order of threads gives the same bits";
    for (std::size_t block = 0; block < 3; ++block) {
      const double sum = std::accumulate(&x[block * 256], &x[block * 256] + 256, 0.0);
      EXPECT_NEAR(sums[block], sum, 1e-5);
      EXPECT_EQ(sums[block], sums[block + 3]) << "the other row of the grid";
    }
  }
}

TEST(FiberRunner, AThreadReadsWhatOthersWroteBeforeTheBarrier) {
  std::vector<float> x(512), y(512), right(512);
  std::iota(x.begin(), x.end(), 0.0f);
  for (std::size_t i = 0; i < x.size(); ++i) right[i] = x[i / 256 * 256 + 255 - i % 256];
  for (const std::uint64_t seed : kSeeds) {
    RunKernel(seed, kBackwards, Grid::For(512, 256), BackwardsCall{x.data(), y.data()});
    EXPECT_EQ(y, right);
    std::ranges::fill(y, 0.0f);
    RunKernel(seed, kBackwardsInMemory, {.blocks = 2, .threads = 256, .block_bytes = 1024},
              BackwardsCall{x.data(), y.data()});
    EXPECT_EQ(y, right);
    RunKernel(seed, kBackwardsUnsynced, Grid::For(512, 256), BackwardsCall{x.data(), y.data()});
    EXPECT_NE(y, right) << "without a barrier it reads what was not written";
    EXPECT_TRUE(std::any_of(y.begin(), y.end(), [](float value) { return std::isnan(value); }))
        << "shared arrays are not a number when a block begins";
  }
}

TEST(FiberRunner, ShufflesWithinEachWarp) {
  std::vector<float> x(64), y(64);
  std::iota(x.begin(), x.end(), 0.0f);
  for (const std::uint64_t seed : kSeeds) {
    RunKernel(seed, kShuffleBy, Grid::For(64, 64), ShuffleByCall{x.data(), y.data(), 5});
    for (std::size_t i = 0; i < 64; ++i)
      EXPECT_EQ(y[i], i % 32 + 5 < 32 ? x[i + 5] : x[i]) << "thread " << i;
  }
}

using FiberRunnerDeathTest = testing::Test;

TEST(FiberRunnerDeathTest, BarriersThatAreNotForEveryThread) {
  EXPECT_DEATH(RunKernel(0, kEarlyEnd, Grid{.threads = 64}, EarlyEndCall{}),
               "kernel EarlyEnd: threads wait at a barrier that others have not come to before");
  EXPECT_DEATH(RunKernel(0, kMixedBarriers, Grid{.threads = 64}, MixedBarriersCall{}),
               "kernel MixedBarriers: threads of one block wait at different kinds of barriers");
}

TEST(FiberRunnerDeathTest, WhatNoGpuRuns) {
  const float x = 0;
  float y = 0;
  EXPECT_DEATH(RunKernel(0, kShuffleBy, Grid{.threads = 33}, ShuffleByCall{&x, &y, 1}),
               "whole warps");
  EXPECT_DEATH(RunKernel(0, kLargeShared, Grid{}, LargeSharedCall{}), "48 KB");
  EXPECT_DEATH(RunKernel(0, kBackwardsInMemory, Grid{.threads = 1, .block_bytes = (48 << 10) + 4},
                         BackwardsCall{&x, &y}),
               "48 KB");
  EXPECT_DEATH(RunKernel(0, kEarlyEnd, Grid{.threads = 1025}, EarlyEndCall{}), "1 to 1024 threads");
  EXPECT_DEATH(RunKernel(0, kEarlyEnd, Grid{.blocks = 0}, EarlyEndCall{}), "1 block at least");
}

}  // namespace
}  // namespace murmurate
