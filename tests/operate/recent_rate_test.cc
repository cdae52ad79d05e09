#include "server/operate/recent_rate.h"

#include <gtest/gtest.h>

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

TEST(RecentRate, IsSteadyBetweenBatchesThatAreFarApart) {
  RecentRate rate(0);
  for (int second = 1; second <= 40; ++second) {
    const auto batches = static_cast<std::uint64_t>(second / 5);  // 1000 steps each 5 s
    const double now = rate.PerSecond(1000 * batches, second * kSecond);
    if (second >= 20) {
      EXPECT_NEAR(now, 200, 50) << second;
    }
  }
}

TEST(RecentRate, ForgetsWhatIsLongAgo) {
  RecentRate rate(0);
  for (int second = 1; second <= 100; ++second) rate.PerSecond(1000u * second, second * kSecond);
  double last = 0;
  for (int second = 101; second <= 140; ++second)
    last = rate.PerSecond(100'000u + 10u * static_cast<unsigned>(second - 100), second * kSecond);
  EXPECT_NEAR(last, 10, 0.5);
}

TEST(RecentRate, BeginsWithTheCountOfAnEarlierLifeAndWithoutARate) {
  RecentRate rate(5 * kSecond);
  rate.BeginAt(1'000'000);
  EXPECT_EQ(rate.PerSecond(1'000'000, 5 * kSecond), 0);
  EXPECT_NEAR(rate.PerSecond(1'000'400, 7 * kSecond), 200, 1e-9);
}

}  // namespace
}  // namespace murmurate
