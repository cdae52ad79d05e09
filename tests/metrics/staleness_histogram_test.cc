#include "server/metrics/staleness_histogram.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

TEST(Staleness, BucketsArePowersOfTwoAndNamedSo) {
  const auto name = [](std::uint64_t versions) {
    return StalenessHistogram::NameOf(StalenessHistogram::BucketOf(versions));
  };
  EXPECT_EQ(name(0), "0");
  EXPECT_EQ(name(1), "1");
  EXPECT_EQ(name(2), "2-3");
  EXPECT_EQ(name(3), "2-3");
  EXPECT_EQ(name(4), "4-7");
  EXPECT_EQ(name(8191), "4096-8191");
  EXPECT_EQ(name(16383), "8192-16383");
  EXPECT_EQ(name(16384), "16384+");
  EXPECT_EQ(name(UINT64_MAX), "16384+");
}

}  // namespace
}  // namespace murmurate
