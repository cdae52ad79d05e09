#include "server/learn/rate_by_kl.h"

#include <gtest/gtest.h>

#include <limits>

namespace murmurate {
namespace {

constexpr double kWanted = 0.01;

TEST(RateByKl, FollowsTheKlOfEachBatch) {
  RateByKl rate(kWanted);
  rate.Learned(0.004);
  EXPECT_DOUBLE_EQ(rate.factor(), 1.5);
  rate.Learned(0.006);
  rate.Learned(0.019);
  rate.Learned(0.0);
  rate.Learned(std::numeric_limits<double>::quiet_NaN());
  EXPECT_DOUBLE_EQ(rate.factor(), 1.5) << "near enough to the one wanted, or nothing is known";
  rate.Learned(0.021);
  EXPECT_DOUBLE_EQ(rate.factor(), 1.0);
  rate.Learned(0.09);
  EXPECT_DOUBLE_EQ(rate.factor(), 1.0 / 1.5);
}

TEST(RateByKl, FallsAtOnceAsFarAsABatchWentTooFar) {
  RateByKl rate(kWanted);
  rate.Learned(0.16);
  EXPECT_DOUBLE_EQ(rate.factor(), 0.25);
  rate.Learned(300.0);
  EXPECT_DOUBLE_EQ(rate.factor(), 1.0 / 30.0) << "no further than that";
}

TEST(RateByKl, GrowsOnlySoFarWhenAPolicyHardlyMoves) {
  RateByKl rate(kWanted);
  for (int i = 0; i < 100; ++i) rate.Learned(1e-6);
  EXPECT_DOUBLE_EQ(rate.factor(), 10.0 / 3.0);
}

TEST(RateByKl, WithoutAWishOrAfterStopItStaysOne) {
  RateByKl none(0.0), stopped(kWanted);
  stopped.Learned(1e-6);
  stopped.Stop();
  for (RateByKl* rate : {&none, &stopped}) {
    rate->Learned(1e-6);
    rate->Learned(100.0);
    EXPECT_EQ(rate->factor(), 1.0);
  }
}

}  // namespace
}  // namespace murmurate
