// The thread runner gives the values that the fiber runner gives; device_races.cc is what it is for.
#include "tests/device/thread_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/device/fiber_runner.h"
#include "tests/device/test_kernels.h"

namespace murmurate {
namespace {

std::vector<float> Sums(KernelRunner* runner, const Grid& grid) {
  std::vector<float> x(grid.blocks * grid.threads), sums(grid.blocks * grid.rows, -1.0f);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  const BlockSumCall call = {x.data(), sums.data()};
  runner->Run(kBlockSum, grid, &call);
  return sums;
}

TEST(ThreadRunner, GivesTheBitsOfTheFiberRunner) {
  FiberRunner fibers(0);
  ThreadRunner threads;
  for (const Grid grid : {Grid{.threads = 32}, Grid{.blocks = 5, .rows = 2, .threads = 64},
                          Grid{.blocks = 9, .threads = 64}, Grid{.threads = 32}})
    EXPECT_EQ(Sums(&threads, grid), Sums(&fibers, grid));
}

TEST(ThreadRunner, ShufflesWithinEachWarp) {
  ThreadRunner runner;
  std::vector<float> x(64), y(64);
  for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i);
  const ShuffleByCall call = {x.data(), y.data(), 5};
  runner.Run(kShuffleBy, {.threads = 64}, &call);
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(y[i], i % 32 + 5 < 32 ? x[i + 5] : x[i]) << "thread " << i;
}

TEST(ThreadRunnerDeathTest, AThreadEndsBeforeABarrier) {
  EXPECT_DEATH(
      {
        ThreadRunner runner;
        const EarlyEndCall call;
        runner.Run(kEarlyEnd, {.threads = 64}, &call);
      },
      "kernel EarlyEnd: threads wait at a barrier that others have not come to before they ended");
}

}  // namespace
}  // namespace murmurate
