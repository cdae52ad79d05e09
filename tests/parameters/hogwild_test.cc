#include "server/parameters/hogwild.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace murmurate {
namespace {

using Numbers = std::vector<float>;

/// Four threads add ones to the same few components; sums below 2^24 are exact, so one add that is
/// lost shows.
TEST(HogwildParameters, LosesNoAddUnderContention) {
  constexpr int kThreads = 4, kSteps = 20000;
  for (const bool locking : {false, true}) {
    HogwildParameters shared(Numbers{0, 100, -7}, locking);
    std::atomic<int> ready = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        const Numbers gradient = {-1, 2, 0};
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        for (int step = 0; step < kSteps; ++step) shared.Step(0.5f, 2.0f, gradient);
      });
    }
    for (std::thread& thread : threads) thread.join();
    Numbers x(3);
    shared.Read(x);
    EXPECT_EQ(x, (Numbers{kThreads * kSteps, 100 - 2 * kThreads * kSteps, -7})) << locking;
  }
}

/// Every step adds the same to all components, and a locked Read sees none between two of them.
TEST(HogwildParameters, WithALockEveryReadIsWhole) {
  constexpr std::size_t kCount = 16384;
  constexpr int kSteps = 2000;
  HogwildParameters shared(Numbers(kCount, 0.0f), true);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    const Numbers gradient(kCount, -1.0f);
    for (int step = 0; step < kSteps; ++step) shared.Step(1.0f, 1.0f, gradient);
    done = true;
  });
  std::size_t torn = 0;
  Numbers x(kCount);
  while (!done) {
    shared.Read(x);
    for (const float value : x) torn += value != x[0];
  }
  writer.join();
  EXPECT_EQ(torn, 0u);
  shared.Read(x);
  EXPECT_EQ(x, Numbers(kCount, kSteps));
}

}  // namespace
}  // namespace murmurate
