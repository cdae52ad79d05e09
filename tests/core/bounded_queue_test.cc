#include "shared/core/bounded_queue.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace murmurate {
namespace {

using std::chrono::milliseconds;

TEST(BoundedQueue, ItemsComeOutInTheOrderTheyWentIn) {
  BoundedQueue<int> queue(3);
  for (int i = 1; i <= 3; ++i) EXPECT_TRUE(queue.TryPush(std::move(i)));
  EXPECT_EQ(queue.TryPop(), 1);
  EXPECT_EQ(queue.TryPop(), 2);
  EXPECT_EQ(queue.TryPop(), 3);
  EXPECT_EQ(queue.TryPop(), std::nullopt);
}

TEST(BoundedQueue, FullQueueRefusesAndLeavesTheItemUntouched) {
  BoundedQueue<std::unique_ptr<int>> queue(1);
  EXPECT_TRUE(queue.TryPush(std::make_unique<int>(1)));
  auto second = std::make_unique<int>(2);
  EXPECT_FALSE(queue.TryPush(std::move(second)));
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
  EXPECT_EQ(queue.size(), 1u);
}

TEST(BoundedQueue, ClosedQueueGivesWhatIsLeftThenNothing) {
  BoundedQueue<int> queue(2);
  EXPECT_TRUE(queue.TryPush(7));
  queue.Close();
  EXPECT_FALSE(queue.TryPush(8));
  EXPECT_EQ(queue.Pop(milliseconds(60'000)), 7);
  EXPECT_EQ(queue.Pop(milliseconds(60'000)), std::nullopt);
}

TEST(BoundedQueue, CloseWakesAWaiter) {
  BoundedQueue<int> queue(1);
  std::optional<int> got = 1;
  std::thread waiter([&] { got = queue.Pop(milliseconds(60'000)); });
  queue.Close();
  waiter.join();
  EXPECT_EQ(got, std::nullopt);
}

TEST(BoundedQueue, EveryItemOfSeveralThreadsArrivesOnce) {
  constexpr int kEach = 2000;
  BoundedQueue<int> queue(8);
  const auto produce = [&](int first) {
    for (int i = 0; i < kEach; ++i) {
      while (!queue.TryPush(first + i)) std::this_thread::yield();
    }
  };
  std::thread a(produce, 0), b(produce, kEach);
  std::vector<int> seen(2 * kEach);
  for (int i = 0; i < 2 * kEach; ++i) {
    const std::optional<int> item = queue.Pop(milliseconds(60'000));
    ASSERT_TRUE(item.has_value());
    ++seen[*item];
  }
  a.join();
  b.join();
  EXPECT_EQ(seen, std::vector<int>(2 * kEach, 1));
}

}  // namespace
}  // namespace murmurate
