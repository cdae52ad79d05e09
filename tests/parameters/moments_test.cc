#include "server/parameters/moments.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace murmurate {
namespace {

std::vector<float> Written(const Moments& moments) {
  std::vector<float> floats(kMomentFloats);
  WriteMoments(moments, floats);
  return floats;
}

void ExpectBits(const Moments& got, const Moments& expected) {
  EXPECT_EQ(got.count, expected.count);
  EXPECT_EQ(got.mean, expected.mean);
  EXPECT_EQ(got.m2, expected.m2);
}

TEST(Moments, GoOverFloatsBitForBit) {
  for (const Moments& moments :
       {Moments{}, Moments{3, -1.0 / 3, 1e-300}, Moments{0x1p53 - 1, 1e300, 0.1}})
    ExpectBits(ReadMoments(Written(moments)), moments);
}

TEST(Moments, WhatIsNoneIsReadAsNothingSeen) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float bad : {-1.0f, 65536.0f, 1e30f, inf, std::nanf("")}) {
    std::vector<float> floats = Written({4, 1, 2});
    floats[5] = bad;
    ExpectBits(ReadMoments(floats), {});
  }
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Moments& moments :
       {Moments{-1, 0, 0}, Moments{1, 0, -1}, Moments{infinite, 0, 0}, Moments{1, std::nan(""), 0}})
    ExpectBits(ReadMoments(Written(moments)), {});
}

// Of 1, 2, 3 and of 5, 7, 9, 11: together 7 numbers of mean 38/7 and squares 290.
TEST(Moments, AreThoseOfAllNumbersTogether) {
  const auto a = Written({3, 2, 2}), nothing = Written({}), b = Written({4, 8, 20});
  const std::span<const float> parts[] = {nothing, a, nothing, b};
  const Moments sum = SumMoments(parts);
  EXPECT_EQ(sum.count, 7.0);
  EXPECT_DOUBLE_EQ(sum.mean, 38.0 / 7);
  EXPECT_DOUBLE_EQ(sum.m2, 290.0 - 38.0 * 38.0 / 7);
  const Moments odd{3, 1.0 / 3, 0.1};
  const auto one = Written(odd);
  const std::span<const float> alone[] = {nothing, one};
  ExpectBits(SumMoments(alone), odd);
}

}  // namespace
}  // namespace murmurate
