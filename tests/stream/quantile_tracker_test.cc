#include "server/stream/quantile_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "shared/core/random.h"
#include "tests/allocations.h"

namespace murmurate {
namespace {

constexpr double kTwo[] = {0.1, 0.9};
constexpr double kFour[] = {0.01, 0.1, 0.9, 0.99};

/// One device.
struct Tracked {
  explicit Tracked(QuantileTracker* its_tracker)
      : tracker(*its_tracker), track(tracker.floats()), offsets(track.size() - 2) {
    tracker.WriteOffsets(track, offsets);
  }
  void Update(double error) {
    tracker.Update(static_cast<float>(error), offsets, track);
    tracker.WriteOffsets(track, offsets);
  }
  QuantileTracker& tracker;
  std::vector<float> track, offsets;
};

// A normal number's 90 % quantile is 1.28155, and its mean distance from 0 is 0.79788: 1.60619 of
// those. The scale of one error of 2 is 2 (1 + 1/2) = 3.
TEST(QuantileTracker, StartsWhereNormalErrorsWouldHaveTheirQuantiles) {
  QuantileTracker tracker(kTwo, 1);
  Tracked device(&tracker);
  EXPECT_TRUE(std::isnan(device.offsets[0]) && std::isnan(device.offsets[1]))
      << "no error is known";
  device.Update(-2);
  EXPECT_NEAR(device.offsets[0], -3 * 1.60619, 1e-4);
  EXPECT_NEAR(device.offsets[1], 3 * 1.60619, 1e-4);
}

// step = 0.06 / sqrt(0.1) = 0.189737: an error inside moves both by 0.1 of it towards the forecast;
// one above the upper one moves that by 0.9 of it away. Scales: of 2 then 1, 1.5 (1 + 1/3) = 2; of
// 2, 1 and 12, 5 (1 + 1/4) = 6.25.
TEST(QuantileTracker, MovesByHand) {
  QuantileTracker tracker(kTwo, 1);
  Tracked device(&tracker);
  device.Update(2);
  device.Update(1);
  EXPECT_NEAR(device.offsets[0], 2 * (-1.60619 + 0.0189737), 1e-4);
  EXPECT_NEAR(device.offsets[1], 2 * (1.60619 - 0.0189737), 1e-4);
  device.Update(12);
  EXPECT_NEAR(device.offsets[0], 6.25 * (-1.60619 + 0.0379473), 1e-4);
  EXPECT_NEAR(device.offsets[1], 6.25 * (1.60619 - 0.0189737 + 0.170763), 1e-4);
}

/// The shares of `errors` beyond each of kFour, away from the forecast.
std::vector<double> Missed(const std::function<double(int)>& errors, int count) {
  QuantileTracker tracker(kFour, 1);
  Tracked device(&tracker);
  std::vector<double> missed(4);
  for (int i = 0; i < count; ++i) {
    const auto error = static_cast<float>(errors(i));
    const auto& offsets = device.offsets;
    EXPECT_TRUE(i == 0 || std::ranges::is_sorted(offsets));
    for (std::size_t q = 0; q < 4; ++q)
      missed[q] += (q < 2 ? error < offsets[q] : error > offsets[q]) ? 1.0 / count : 0;
    device.Update(error);
  }
  return missed;
}

/// The shares hold for errors of every kind: no distribution is assumed, and it may change.
TEST(QuantileTracker, HoldsTheSharesOfAnyErrors) {
  Random random(4);
  const std::vector<std::function<double(int)>> all = {
      [&](int) { return random.Normal(); },
      [&](int) { return std::tan(M_PI * (random.Uniform() - 0.5)); },  // Cauchy: without a mean
      [&](int) { return -std::log(1.0 - random.Uniform()); },          // never below the forecast
      [&](int i) { return random.Normal() * std::exp(0.002 * i); },    // e^8 times as large at last
      [&](int i) { return random.Normal() * (i / 500 % 2 == 0 ? 1 : 20); },
      [](int i) { return std::sin(0.05 * i) + 0.2 * std::sin(i); },
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::vector<double> missed = Missed(all[i], 4000);
    const bool above = i == 2;
    EXPECT_NEAR(missed[0], above ? 0 : 0.01, 0.003) << i;
    EXPECT_NEAR(missed[1], above ? 0 : 0.1, 0.01) << i;
    EXPECT_NEAR(missed[2], 0.1, 0.01) << i;
    EXPECT_NEAR(missed[3], 0.01, 0.003) << i;
  }
}

TEST(QuantileTracker, AForecastThatIsNeverWrongHasNoWidthAndFindsOneAtOnce) {
  QuantileTracker tracker(kTwo, 1);
  Tracked device(&tracker);
  for (int i = 0; i < 100; ++i) device.Update(0);
  EXPECT_THAT(device.offsets, ::testing::Each(0.0f));
  for (int i = 0; i < 40; ++i) device.Update(i % 2 ? 1 : -1);
  EXPECT_NEAR(device.offsets[0], -1, 0.3);
  EXPECT_NEAR(device.offsets[1], 1, 0.3);
}

/// Heavy tails that a hundred devices had are known to the next one from its first error on.
TEST(QuantileTracker, ADeviceStartsFromWhatTheOthersHadToLearn) {
  QuantileTracker tracker(kFour, 1);
  Random random(6);
  for (int i = 0; i < 100; ++i) {
    Tracked device(&tracker);
    for (int row = 0; row < 200; ++row) {
      const double tail = std::pow(1.0 - random.Uniform(), -0.5) - 1;  // Pareto: 9 at 1 %
      device.Update(random.Uniform() < 0.5 ? tail : -tail);
    }
  }
  EXPECT_GT(tracker.pool()[3], 1.3f * QuantileTracker(kFour, 1).pool()[3]);
  QuantileTracker again(kFour, 1);
  again.GoOnFrom(tracker.pool());
  Tracked device(&again);
  device.Update(1);
  EXPECT_FLOAT_EQ(device.offsets[3], 1.5f * tracker.pool()[3]);
}

TEST(QuantileTracker, AllocatesNothing) {
  QuantileTracker tracker(kFour, 1);
  Tracked device(&tracker);
  const std::uint64_t before = Allocations();
  for (int i = 0; i < 10; ++i) device.Update(i);
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace murmurate
