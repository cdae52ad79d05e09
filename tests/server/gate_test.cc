#include "server/daemon/gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace murmurate {
namespace {

TEST(Gate, ShutItLetsNobodyInAndNobodyIsInside) {
  for (int round = 0; round < 200; ++round) {
    Gate gate;
    std::atomic<bool> over{false};
    std::atomic<int> passes{0};
    std::atomic<bool> inside{false};
    std::thread visitor([&] {
      while (!over) {
        gate.Pass([&] {
          inside = true;
          for (int i = 0; i < 100; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
          ++passes;
          inside = false;
        });
      }
    });
    while (passes == 0) std::this_thread::yield();
    gate.Shut();
    EXPECT_TRUE(gate.shut());
    EXPECT_FALSE(inside);
    const int passed = passes;
    for (int i = 0; i < 5; ++i) std::this_thread::yield();
    EXPECT_EQ(passes, passed);
    over = true;
    visitor.join();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace murmurate
