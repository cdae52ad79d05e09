#include "server/stream/reconnect_delay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

double Seconds(std::int64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNanosecondsPerSecond);
}

TEST(ReconnectDelay, IsNothingFirstThenDoublesUpToThirtySeconds) {
  const double longest[] = {2, 4, 8, 16, 30, 30, 30, 30};
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    ReconnectDelay delay(seed);
    EXPECT_EQ(delay.Next(), 0);
    for (const double most : longest) {
      const double seconds = Seconds(delay.Next());
      EXPECT_GE(seconds, most / 2);
      EXPECT_LE(seconds, most);
    }
  }
}

TEST(ReconnectDelay, DiffersFromOneClientToTheNext) {
  double sum = 0;
  std::int64_t least = INT64_MAX, most = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    ReconnectDelay delay(seed);
    (void)delay.Next();
    const std::int64_t wait = delay.Next();
    sum += Seconds(wait);
    least = std::min(least, wait);
    most = std::max(most, wait);
  }
  EXPECT_LT(Seconds(least), 1.02);
  EXPECT_GT(Seconds(most), 1.98);
  EXPECT_NEAR(sum / 1000, 1.5, 0.03);  // uniform in [1, 2]: deviation 0.29 / sqrt(1000) = 0.009
}

TEST(ReconnectDelay, BeginsAgainAfterAGoodConnection) {
  ReconnectDelay delay(7);
  for (int i = 0; i < 10; ++i) (void)delay.Next();
  delay.Reset();
  EXPECT_EQ(delay.Next(), 0);
  EXPECT_LE(Seconds(delay.Next()), 2);
}

TEST(ReconnectDelay, NeverRunsOver) {
  ReconnectDelay delay(9);
  for (int i = 0; i < 1'000'000; ++i) (void)delay.Next();
  EXPECT_LE(Seconds(delay.Next()), 30);
  EXPECT_GE(Seconds(delay.Next()), 15);
}

}  // namespace
}  // namespace murmurate
