#include "server/operate/snapshot_board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

std::shared_ptr<const RunSnapshot> At(std::int64_t ns) {
  auto snapshot = std::make_shared<RunSnapshot>();
  snapshot->at_ns = ns;
  return snapshot;
}

TEST(SnapshotBoard, NothingIsDueWhileNoReaderAsks) {
  int wakes = 0;
  SnapshotBoard board([&] { ++wakes; });
  EXPECT_EQ(board.due_ns(), kNever);
  EXPECT_EQ(board.Await(0, 1), nullptr);
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(board.due_ns(), 0) << "the first is due at once";
  EXPECT_EQ(board.Await(0, 1), nullptr);
  EXPECT_EQ(wakes, 1) << "it has been asked for already";
  board.Publish(At(500));
  EXPECT_EQ(board.due_ns(), kNever);
}

TEST(SnapshotBoard, OneSnapshotServesAllThatAskForNoNewerOne) {
  int wakes = 0;
  SnapshotBoard board([&] { ++wakes; });
  board.Publish(At(500));
  EXPECT_EQ(board.Await(500, 0)->at_ns, 500);
  EXPECT_EQ(board.Await(1, 0)->at_ns, 500);
  EXPECT_EQ(wakes, 0);
  EXPECT_EQ(board.Await(501, 1), nullptr);
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(board.due_ns(), 500 + SnapshotBoard::kIntervalNs) << "at most one a second";
}

TEST(SnapshotBoard, WakesAReaderWhenItIsThere) {
  SnapshotBoard board([] {});
  std::atomic<std::int64_t> got{0};
  std::thread reader([&] { got = board.Await(7, 10'000)->at_ns; });
  while (board.due_ns() == kNever) std::this_thread::yield();
  board.Publish(At(6));  // too old for it
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(got, 0);
  board.Publish(At(7));
  reader.join();
  EXPECT_EQ(got, 7);
}

TEST(SnapshotBoard, ClosedItEndsEveryWait) {
  SnapshotBoard board([] {});
  const std::int64_t before = MonotonicNs();
  std::thread reader([&] { EXPECT_EQ(board.Await(7, 60'000), nullptr); });
  while (board.due_ns() == kNever) std::this_thread::yield();
  board.Close();
  reader.join();
  EXPECT_LT(MonotonicNs() - before, 30 * kNanosecondsPerSecond);
  board.Publish(At(9));
  EXPECT_EQ(board.Await(7, 60'000), nullptr);
  EXPECT_EQ(board.due_ns(), kNever);
}

}  // namespace
}  // namespace murmurate
