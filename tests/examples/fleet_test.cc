#include "examples/sensors/fleet/fleet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace murmurate {
namespace {

FleetSettings WithNoise(double noise) {
  FleetSettings settings;
  settings.noise = noise;
  return settings;
}

TEST(Fleet, TheSameSeedMakesTheSameMessageInAnyOrder) {
  const Fleet one(FleetSettings{}), other(FleetSettings{});
  std::vector<double> forward, backward;
  for (std::uint64_t n = 1; n <= 50; ++n) forward.push_back(one.At(3, n, false).temp);
  for (std::uint64_t n = 50; n >= 1; --n) backward.push_back(other.At(3, n, false).temp);
  EXPECT_EQ(forward, std::vector<double>(backward.rbegin(), backward.rend()));
  FleetSettings settings;
  settings.seed = 2;
  EXPECT_NE(Fleet(settings).At(3, 1, false).temp, forward[0]);
}

TEST(Fleet, MoreDevicesLeaveTheFirstOnesAsTheyAre) {
  FleetSettings settings;
  settings.devices = 40;
  const Fleet few(FleetSettings{}), many(settings);
  EXPECT_EQ(few.At(9, 7, false).hum, many.At(9, 7, false).hum);
}

TEST(Fleet, NoTwoDevicesAreAlike) {
  const Fleet fleet(FleetSettings{});
  for (int i = 1; i < fleet.devices(); ++i) {
    EXPECT_NE(fleet.CharacterOf(i, false).level, fleet.CharacterOf(0, false).level);
    EXPECT_NE(fleet.CharacterOf(i, false).phase, fleet.CharacterOf(0, false).phase);
    EXPECT_NE(fleet.CharacterOf(i, false).noise, fleet.CharacterOf(0, false).noise);
  }
}

/// Of a device's temperatures over 95 seasons (10 whole turns of its wander), what a sine of its
/// season has: twice the mean of temp * e^(2 pi i n / season).
double AmplitudeOf(const Fleet& fleet, int device, bool drifted, double season) {
  const int count = static_cast<int>(95 * season);
  double cosine = 0, sine = 0;
  for (int n = 1; n <= count; ++n) {
    const double angle = 2 * M_PI * n / season;
    const double temp = fleet.At(device, static_cast<std::uint64_t>(n), drifted).temp;
    cosine += temp * std::cos(angle);
    sine += temp * std::sin(angle);
  }
  return 2 * std::hypot(cosine, sine) / count;
}

TEST(Fleet, ADeviceRepeatsWithItsSeason) {
  const Fleet fleet(FleetSettings{});
  for (int i = 0; i < fleet.devices(); ++i) {
    const Fleet::Character& pump = fleet.CharacterOf(i, false);
    // Loads switch at random and leave about sqrt(8 * 0.23 * 2^2 * 2 / 1700) = 0.1 at any season.
    EXPECT_NEAR(AmplitudeOf(fleet, i, false, pump.season), pump.amplitude, 0.35);
    EXPECT_LT(AmplitudeOf(fleet, i, false, pump.season - 5), 0.5);
  }
}

double MeanOf(const Fleet& fleet, int device, bool drifted) {
  double sum = 0;
  for (std::uint64_t n = 1; n <= 20'000; ++n) sum += fleet.At(device, n, drifted).temp;
  return sum / 20'000;
}

TEST(Fleet, ADriftMovesTheLevelAndShortensTheSeason) {
  const Fleet fleet(FleetSettings{});
  for (int i = 0; i < fleet.devices(); ++i) {
    const Fleet::Character &before = fleet.CharacterOf(i, false),
                           &after = fleet.CharacterOf(i, true);
    // Of a load a share of 0.35 heats before and cools after, by at most 2 degrees.
    const double moved = MeanOf(fleet, i, true) - MeanOf(fleet, i, false);
    EXPECT_GE(std::abs(moved), 4 - 2 * 0.35 * 2 - 0.2);
    EXPECT_LT(after.season, before.season);
    EXPECT_NEAR(AmplitudeOf(fleet, i, true, after.season), 1.4 * before.amplitude, 0.35);
  }
}

TEST(Fleet, TheBestErrorIsThatOfAForecasterWithoutNoise) {
  const Fleet fleet(WithNoise(0.2)), known(WithNoise(0));
  double sum = 0;
  constexpr std::uint64_t kMessages = 20'000;
  for (int i = 0; i < fleet.devices(); ++i)
    for (std::uint64_t n = 1; n <= kMessages; ++n)
      sum += std::abs(fleet.At(i, n, false).temp - known.At(i, n, false).temp);
  // Of 200,000 errors the mean has a deviation of 0.2 * 0.6 / sqrt(200,000) = 0.0003.
  EXPECT_NEAR(sum / (fleet.devices() * double{kMessages}), fleet.BestError(), 0.0015);
  EXPECT_EQ(known.BestError(), 0);
}

TEST(Fleet, VibrationTellsTheNextTemperature) {
  const Fleet known(WithNoise(0));
  const Fleet::Character& pump = known.CharacterOf(0, false);
  double with_load = 0, without = 0;
  int loads = 0;
  constexpr int kMessages = 40'000;
  for (std::uint64_t n = 1; n <= kMessages; ++n) {
    const bool load = known.At(0, n, false).vib > pump.quiet + pump.shake / 2;
    (load ? with_load : without) += known.At(0, n + 1, false).temp;
    loads += load;
  }
  // The rest averages out: of sums over so many seasons little is left.
  EXPECT_NEAR(with_load / loads - without / (kMessages - loads), pump.heat, 0.25);
}

}  // namespace
}  // namespace murmurate
