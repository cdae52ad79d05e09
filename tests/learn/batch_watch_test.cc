#include "server/learn/batch_watch.h"

#include <gtest/gtest.h>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

std::int64_t Seconds(double seconds) {
  return static_cast<std::int64_t>(seconds * kNanosecondsPerSecond);
}

/// Eight batches of so many seconds each; the next one begins at 1000 s.
void Usually(double seconds, BatchWatch* watch) {
  for (int i = 0; i < 8; ++i) {
    watch->Begin(Seconds(100 * i));
    watch->End(Seconds(100 * i + seconds));
  }
  watch->Begin(Seconds(1000));
}

TEST(BatchWatch, ABatchIsLateAfterTenSecondsAndTwentyTimesTheUsual) {
  BatchWatch quick;
  Usually(0.1, &quick);
  EXPECT_FALSE(quick.Look(Seconds(1009.9)));
  const auto late = quick.Look(Seconds(1010));
  ASSERT_TRUE(late);
  EXPECT_DOUBLE_EQ(late->seconds, 10);
  EXPECT_NEAR(late->usual_s, 0.1, 1e-9);
  BatchWatch slow;
  Usually(2, &slow);
  EXPECT_FALSE(slow.Look(Seconds(1039)));
  EXPECT_TRUE(slow.Look(Seconds(1041)));
}

TEST(BatchWatch, ALateBatchIsReportedEveryTenSecondsUntilItEnds) {
  BatchWatch watch;
  Usually(0.1, &watch);
  EXPECT_TRUE(watch.Look(Seconds(1012)));
  EXPECT_FALSE(watch.Look(Seconds(1021)));
  EXPECT_TRUE(watch.Look(Seconds(1022)));
  watch.End(Seconds(1023));
  EXPECT_FALSE(watch.Look(Seconds(1100)));
}

TEST(BatchWatch, TheFirstBatchHasNoUsualTime) {
  BatchWatch watch;
  EXPECT_FALSE(watch.Look(Seconds(50))) << "there is none";
  watch.Begin(Seconds(50));
  EXPECT_FALSE(watch.Look(Seconds(59)));
  const auto late = watch.Look(Seconds(61));
  ASSERT_TRUE(late);
  EXPECT_EQ(late->usual_s, 0);
}

}  // namespace
}  // namespace murmurate
