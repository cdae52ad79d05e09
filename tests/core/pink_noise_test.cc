#include "shared/core/pink_noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>
#include <utility>
#include <vector>

#include "tests/allocations.h"

namespace murmurate {
namespace {

/// In place; the size is a power of 2.
void Transform(std::vector<std::complex<double>>& x) {
  const std::size_t n = x.size();
  if (n == 1) return;
  std::vector<std::complex<double>> even(n / 2), odd(n / 2);
  for (std::size_t i = 0; i < n / 2; ++i) even[i] = x[2 * i], odd[i] = x[2 * i + 1];
  Transform(even), Transform(odd);
  for (std::size_t i = 0; i < n / 2; ++i) {
    const auto turned = std::polar(1.0, -2 * std::numbers::pi * i / n) * odd[i];
    x[i] = even[i] + turned, x[i + n / 2] = even[i] - turned;
  }
}

/// Fits log power against log frequency, from 1/1000 cycles a step to 1/2: the mean of 16 series of
/// 16,384 steps, in bands of a fifth of an octave.
template <typename Draw>
double Slope(const Draw& next) {
  constexpr std::size_t kSteps = 16'384;
  std::vector<double> power(kSteps / 2 + 1);
  for (int series = 0; series < 16; ++series) {
    std::vector<std::complex<double>> x(kSteps);
    for (std::size_t i = 0; i < kSteps; ++i)  // Hann's window: no leak from strong to weak
      x[i] = next() * (1 - std::cos(2 * std::numbers::pi * i / kSteps));
    Transform(x);
    for (std::size_t i = 0; i < power.size(); ++i) power[i] += std::norm(x[i]);
  }
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (double low = 0.001; low < 0.5; low *= std::exp2(0.2)) {
    const std::size_t first = static_cast<std::size_t>(std::ceil(low * kSteps));
    const std::size_t last = static_cast<std::size_t>(std::min(0.5, low * std::exp2(0.2)) * kSteps);
    double sum = 0, log_frequency = 0;
    for (std::size_t i = first; i <= last; ++i) sum += power[i], log_frequency += std::log(i);
    if (last < first) continue;
    const double count = static_cast<double>(last - first + 1);
    const double x = log_frequency / count, y = std::log(sum / count);
    n += 1, sx += x, sy += y, sxx += x * x, sxy += x * y;
  }
  return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

TEST(PinkNoise, ThePowerFallsAsOneOverTheFrequency) {
  Random random(1);
  PinkNoise pink(1);
  EXPECT_NEAR(Slope([&] { return double{pink.Next(0, 1, random)[0]}; }), -1.0, 0.03);
  EXPECT_NEAR(Slope([&] { return random.Normal(); }), 0.0, 0.03) << "what white noise measures";
}

struct Moments {
  double mean, variance;
};

template <typename Numbers>
Moments MomentsOf(const Numbers& numbers) {
  double sum = 0, squares = 0;
  for (const float x : numbers) sum += x, squares += double{x} * x;
  const double n = static_cast<double>(numbers.size());
  return {sum / n, squares / n - sum / n * (sum / n)};
}

constexpr int kCount = 40'000;

TEST(PinkNoise, TheVarianceIsOneFromTheFirstStepOn) {
  Random random(2);
  PinkNoise pink(kCount);
  for (int step = 0; step < 60; ++step) {
    const auto numbers = pink.Next(0, kCount, random);
    if (step > 1 && step < 59) continue;
    const Moments got = MomentsOf(numbers);
    EXPECT_NEAR(got.mean, 0.0, 0.02) << step;  // four standard errors
    EXPECT_NEAR(got.variance, 1.0, 0.03) << step;
  }
}

double MeanProduct(std::span<const float> one, std::span<const float> other) {
  double sum = 0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += double{one[i]} * other[i];
  return sum / static_cast<double>(one.size());
}

TEST(PinkNoise, StepsAreAlikeUntilARestartAndNumbersAreIndependent) {
  Random random(3);
  PinkNoise pink(kCount);
  const auto step = [&] {
    const auto numbers = pink.Next(0, kCount, random);
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  const auto first = step(), second = step();
  EXPECT_GT(MeanProduct(first, second), 0.7);
  const std::span<const float> all = second;
  EXPECT_NEAR(MeanProduct(all.first(kCount - 1), all.last(kCount - 1)), 0.0, 0.02);
  pink.Restart();
  EXPECT_NEAR(MeanProduct(second, step()), 0.0, 0.02);
}

TEST(PinkNoise, TheSameSeedGivesTheSameNumbersInWhateverPartsTheyAreAskedFor) {
  Random one(7), other(7);
  PinkNoise whole(5), parts(5);
  for (int step = 0; step < 100; ++step) {
    if (step == 50) whole.Restart(), parts.Restart();
    const auto numbers = whole.Next(0, 5, one);
    const std::vector<float> expected(numbers.begin(), numbers.end());
    std::vector<float> got;
    for (const auto& [first, count] : {std::pair{0, 2}, std::pair{2, 3}})
      for (const float x : parts.Next(first, count, other)) got.push_back(x);
    EXPECT_EQ(got, expected) << step;
  }
}

TEST(PinkNoise, ARestartDrawsNothingAndAStepAllocatesNothing) {
  Random random(1), same(1);
  PinkNoise pink(3);
  pink.Restart();
  EXPECT_EQ(random.Saved(), same.Saved());
  const std::uint64_t before = Allocations();
  for (int step = 0; step < 10; ++step) {
    pink.Next(0, 3, random);
    pink.Restart();
  }
  EXPECT_EQ(Allocations(), before);
}

}  // namespace
}  // namespace murmurate
