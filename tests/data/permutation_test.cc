#include "server/data/permutation.h"

#include <gtest/gtest.h>

#include <vector>

namespace murmurate {
namespace {

TEST(PermutationTest, EveryPlaceStandsOnce) {
  for (const std::uint64_t n : {1, 2, 3, 4, 5, 7, 8, 9, 100, 1000, 1024, 65537})
    for (const std::uint64_t key : {1, 2, 77}) {
      const Permutation order(n, key);
      std::vector<int> seen(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        const std::uint64_t at = order(i);
        ASSERT_LT(at, n);
        ++seen[at];
      }
      EXPECT_EQ(seen, std::vector<int>(n, 1)) << n;
    }
}

TEST(PermutationTest, TheSameKeyGivesTheSameOrderAndAnotherAnother) {
  const Permutation a(1000, 5), same(1000, 5), other(1000, 6);
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(a(i), same(i));
    equal += a(i) == other(i);
  }
  EXPECT_LT(equal, 20);  // a fair one: 1 on average
}

// Over many keys each of 50 items comes to each of 50 places equally often: chi-square with 49
// degrees of freedom has mean 49 and deviation 9.9; 5 deviations above is 99. And neighbours part.
TEST(PermutationTest, ItemsComeToAllPlacesEquallyOften) {
  constexpr int kItems = 50, kKeys = 20000;
  std::vector<std::vector<int>> counts(kItems, std::vector<int>(kItems));
  int neighbours = 0;
  for (int key = 0; key < kKeys; ++key) {
    const Permutation order(kItems, static_cast<std::uint64_t>(key));
    for (int i = 0; i < kItems; ++i) {
      ++counts[i][order(i)];
      if (i > 0) neighbours += order(i) == order(i - 1) + 1;
    }
  }
  const double expected = kKeys / double{kItems};
  double sum = 0;
  for (int i = 0; i < kItems; ++i) {
    for (int place = 0; place < kItems; ++place) {
      const double off = counts[i][place] - expected;
      sum += off * off / expected;
    }
  }
  EXPECT_LT(sum / kItems, 60.0);
  EXPECT_NEAR(neighbours / double{kKeys}, 49.0 / 50.0, 0.1);  // of a fair order
}

}  // namespace
}  // namespace murmurate
