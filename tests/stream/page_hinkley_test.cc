#include "server/stream/page_hinkley.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shared/core/random.h"

namespace murmurate {
namespace {

TEST(PageHinkleyTest, OnPaper) {
  // x = 1, 1, 4, 4 with tolerance 0.5: means 1, 1, 2, 2.5; sums -0.5, -1, 0.5, 1.5; lowest -1.
  PageHinkley drift({.threshold = 2.0, .tolerance = 0.5});
  EXPECT_FALSE(drift.Update(1));
  EXPECT_FALSE(drift.Update(1));
  EXPECT_FALSE(drift.Update(4)) << "0.5 + 1 = 1.5";
  EXPECT_TRUE(drift.Update(4)) << "1.5 + 1 = 2.5";
  EXPECT_EQ(drift.state().count, 0) << "it begins again";
}

TEST(PageHinkleyTest, SeesARiseSoonAndNoneWhereThereIsNone) {
  Random random(1);
  PageHinkley drift({});
  for (int i = 0; i < 100'000; ++i)
    ASSERT_FALSE(drift.Update(std::abs(random.Normal()))) << "at " << i;
  int until = 0;
  while (!drift.Update(2 * std::abs(random.Normal()))) ASSERT_LT(++until, 200);
  EXPECT_GT(until, 20) << "one bad value is no drift";
}

TEST(PageHinkleyTest, AFallIsNoDrift) {
  PageHinkley drift({});
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(drift.Update(2));
  for (int i = 0; i < 10'000; ++i) ASSERT_FALSE(drift.Update(1));
}

TEST(PageHinkleyTest, ThresholdZeroSeesNothing) {
  PageHinkley drift({.threshold = 0});
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(drift.Update(i));
}

}  // namespace
}  // namespace murmurate
