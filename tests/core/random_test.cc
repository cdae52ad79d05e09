// The expected numbers come from a Python transcription of the published xoshiro256++ 1.0 and
// SplitMix64 sources (Blackman and Vigna); the first of seed 0 is also what Rust's rand_xoshiro
// prints.
#include "shared/core/random.h"

#include <gtest/gtest.h>

#include <bit>

namespace murmurate {
namespace {

TEST(Random, GivesTheNumbersOfXoshiro256PlusPlus) {
  Random zero(0);
  EXPECT_EQ(zero.Next(), 0x53175d61490b23dfu);
  EXPECT_EQ(zero.Next(), 0x61da6f3dc380d507u);
  EXPECT_EQ(zero.Next(), 0x5c0fdf91ec9a7bfcu);
  EXPECT_EQ(zero.Next(), 0x02eebf8c3bbe5e1au);
  Random one(1);
  EXPECT_EQ(one.Next(), 0xcfc5d07f6f03c29bu);
  Random beef(0xdeadbeef);
  EXPECT_EQ(beef.Next(), 0x0c520eb8fea98edeu);
}

TEST(Random, UniformIntAndUniformUseTheHighBits) {
  Random ints(5);
  EXPECT_EQ(ints.UniformInt(10), 2u);
  EXPECT_EQ(ints.UniformInt(10), 6u);
  EXPECT_EQ(ints.UniformInt(10), 0u);
  Random floats(5);
  EXPECT_EQ(floats.Uniform(), 0.29202282428741455f);
  EXPECT_EQ(floats.Uniform(), 0.6114394068717957f);
}

TEST(Random, NormalIsBoxMullerAndKeepsTheSecondOfAPair) {
  Random random(7);
  EXPECT_DOUBLE_EQ(random.Normal(), 0.15864398364230053);
  EXPECT_DOUBLE_EQ(random.Normal(), 0.29788548717637203);
}

// Fails when a product and a sum are fused anywhere, as processors with such an instruction like
// to.
TEST(Random, NormalHasTheSameBitsEverywhere) {
  Random random(11);
  std::uint64_t hash = 0;
  for (int i = 0; i < 100'000; ++i)
    hash = 31 * hash + std::bit_cast<std::uint64_t>(random.Normal());
  EXPECT_EQ(hash, 0x3ac399f56024fd98u);  // the transcription, in Python's doubles
}

TEST(Random, NormalHasMeanZeroAndVarianceOne) {
  Random random(3);
  constexpr int kCount = 100'000;
  double sum = 0.0, squares = 0.0;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.Normal();
    sum += x;
    squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.013);  // four standard errors
  EXPECT_NEAR(squares / kCount, 1.0, 0.018);
}

TEST(Random, EachIndexDerivesItsOwnSeed) {
  EXPECT_EQ(DeriveSeed(1, 0), 0x5e41ab087439611eu);
  EXPECT_EQ(DeriveSeed(1, 1), 0xe9fd6049d65af21eu);
  EXPECT_EQ(DeriveSeed(2, 0), 0x64684c4f0fd784b4u);
}

TEST(Random, IdentitiesDifferAndAreNeverZero) {
  const std::uint64_t first = RandomIdentity();
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, RandomIdentity());
}

TEST(Random, GoesOnFromWhatWasSavedEvenBetweenTwoNormals) {
  Random random(5);
  (void)random.Next();
  (void)random.Normal();
  Random other(6);
  other.GoOnFrom(random.Saved());
  EXPECT_EQ(other.Normal(), random.Normal()) << "the second of the pair";
  EXPECT_EQ(other.Next(), random.Next());
  EXPECT_EQ(other.Normal(), random.Normal());
}

}  // namespace
}  // namespace murmurate
