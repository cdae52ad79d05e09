#include "server/data/block_permutation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <vector>

namespace murmurate {
namespace {

constexpr std::uint64_t kBlocks[] = {1, 2, 3, 7, 16, 100}, kGroups[] = {1, 2, 3, 8, 1000};

template <typename Check>
void ForAllSizes(Check check) {
  for (const std::uint64_t block : kBlocks)
    for (const std::uint64_t group : kGroups)
      for (const std::uint64_t n :
           {std::uint64_t{1}, std::max<std::uint64_t>(block - 1, 1), block, block + 1, 2 * block,
            5 * block, 5 * block + 1, 8 * block - 1, 40 * block + block / 2})
        check(n, block, group);
}

TEST(BlockPermutationTest, EveryPlaceStandsOnceMixedAndUnmixed) {
  ForAllSizes([](std::uint64_t n, std::uint64_t block, std::uint64_t group) {
    for (const std::uint64_t key : {1, 77}) {
      const BlockPermutation order(n, key, block, group);
      std::vector<int> mixed(n), unmixed(n);
      for (std::uint64_t i = 0; i < n; ++i) {
        ASSERT_LT(order(i), n);
        ASSERT_LT(order.Unmixed(i), n);
        ++mixed[order(i)];
        ++unmixed[order.Unmixed(i)];
      }
      EXPECT_EQ(mixed, std::vector<int>(n, 1)) << n << ' ' << block << ' ' << group;
      EXPECT_EQ(unmixed, std::vector<int>(n, 1)) << n << ' ' << block << ' ' << group;
    }
  });
}

TEST(BlockPermutationTest, UnmixedHasWholeBlocksAndAGroupHasTheSameNumbersInBoth) {
  ForAllSizes([](std::uint64_t n, std::uint64_t block, std::uint64_t group) {
    const BlockPermutation order(n, 5, block, group);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t number = order.Unmixed(i);
      EXPECT_EQ(number, i % block == 0 ? number / block * block : order.Unmixed(i - 1) + 1);
    }
    for (std::uint64_t first = 0; first < n; first += order.group_items()) {
      std::set<std::uint64_t> mixed, unmixed;
      for (std::uint64_t i = first; i < std::min(n, first + order.group_items()); ++i) {
        mixed.insert(order(i));
        unmixed.insert(order.Unmixed(i));
      }
      EXPECT_EQ(mixed, unmixed) << n << ' ' << block << ' ' << group << ' ' << first;
    }
  });
}

TEST(BlockPermutationTest, TheSameKeyGivesTheSameOrderAndAnotherAnother) {
  const BlockPermutation a(1000, 5, 10, 8), same(1000, 5, 10, 8), other(1000, 6, 10, 8);
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(a(i), same(i));
    equal += a(i) == other(i);
  }
  EXPECT_LT(equal, 30);  // a fair one: 1 on average
}

// 1,000 keys; 64 blocks of 16 in groups of 8. A number is within 10 places of its own with a chance
// of 2.05 %, as in a fair order: its block is anywhere, and its place in the group too. And a
// number follows the one before it in the file with a chance of 1 / 128, that of a fair order of a
// group.
TEST(BlockPermutationTest, NumbersLeaveTheirPlacesAndTheirNeighbours) {
  constexpr std::uint64_t kN = 1024, kKeys = 1000;
  std::uint64_t near = 0, behind = 0;
  std::vector<int> at_first(kN);
  for (std::uint64_t key = 0; key < kKeys; ++key) {
    const BlockPermutation order(kN, key, 16, 8);
    std::uint64_t before = kN;
    for (std::uint64_t i = 0; i < kN; ++i) {
      const std::uint64_t number = order(i);
      near += std::llabs(static_cast<long long>(number) - static_cast<long long>(i)) <= 10;
      behind += number == before + 1;
      before = number;
      if (i % 128 == 0) ++at_first[number];
    }
  }
  constexpr double kAll = kN * kKeys;
  EXPECT_NEAR(static_cast<double>(near) / kAll, 0.0205, 0.002);
  EXPECT_NEAR(static_cast<double>(behind) / kAll, 1 / 128.0, 0.0015);
  // Each of the 1,024 begins a group 7.8 times on average, of which 30 is 8 deviations off.
  EXPECT_LT(*std::ranges::max_element(at_first), 30);
}

}  // namespace
}  // namespace murmurate
