#include "server/replay/sum_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "shared/core/random.h"
#include "tests/allocations.h"

namespace murmurate {
namespace {

struct Tree {
  explicit Tree(std::size_t leaves)
      : block(BytesFor(leaves)), cursor(block.bytes()), tree(leaves, cursor) {}
  static std::size_t BytesFor(std::size_t leaves) {
    BlockCursor measure;
    const SumTree tree(leaves, measure);
    return measure.used();
  }
  std::size_t Find(double mass) {
    std::size_t leaf = 0;
    tree.Find({&mass, 1}, {&leaf, 1});
    return leaf;
  }

  MappedBlock block;
  BlockCursor cursor;
  SumTree tree;
};

/// Leaves are multiples of 1/8, so that all sums are exact in whatever order.
float RandomLeaf(Random* random) {
  return random->UniformInt(3) == 0 ? 0.0f : 0.125f * static_cast<float>(random->UniformInt(800));
}

std::size_t FindByScan(const std::vector<float>& leaves, double mass) {
  std::size_t leaf = 0;
  for (double before = leaves[0]; before <= mass; before += leaves[++leaf]) {
  }
  return leaf;
}

void CompareWithScan(std::size_t count, int operations) {
  Tree made(count);
  std::vector<float> leaves(count, 0.0f);
  Random random(count);
  for (int i = 0; i < operations; ++i) {
    const std::size_t leaf = random.UniformInt(static_cast<std::uint32_t>(count));
    const float value = RandomLeaf(&random);
    if (i % 5 == 0) {
      const std::size_t n = random.UniformInt(static_cast<std::uint32_t>(count - leaf + 1));
      made.tree.Fill(leaf, n, value);
      std::fill_n(leaves.begin() + static_cast<std::ptrdiff_t>(leaf), n, value);
    } else {
      made.tree.Set(leaf, value);
      leaves[leaf] = value;
    }
    double total = 0;
    for (const float each : leaves) total += each;
    ASSERT_EQ(made.tree.total(), total);
    if (total == 0) continue;
    const double mass = total * random.UniformDouble();
    ASSERT_EQ(made.Find(mass), FindByScan(leaves, mass));
  }
}

TEST(SumTree, AgreesWithALinearScan) {
  for (const std::size_t leaves : {1, 2, 15, 16, 17, 127, 128, 129, 1000, 1025})
    CompareWithScan(leaves, 2000);
}

TEST(SumTree, FindsManyAtOnceAsEachByItself) {
  Tree made(5000);
  Random random(8);
  for (std::size_t leaf = 0; leaf < 5000; ++leaf) made.tree.Set(leaf, random.Uniform());
  std::vector<double> masses(1000);
  std::vector<std::size_t> leaves(1000);
  for (double& mass : masses) mass = made.tree.total() * random.UniformDouble();
  std::vector<double> left = masses;
  made.tree.Find(left, leaves);
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(leaves[i], made.Find(masses[i]));
}

/// 0.1 added and taken away in floats would leave something behind.
TEST(SumTree, DoesNotDrift) {
  Tree made(300);
  Random random(5);
  for (int i = 0; i < 200'000; ++i)
    made.tree.Set(random.UniformInt(300), 1e-6f + 1e6f * random.Uniform());
  made.tree.Fill(0, 300, 0.0f);
  EXPECT_EQ(made.tree.total(), 0.0);
  made.tree.Set(7, 0.1f);
  EXPECT_EQ(made.tree.total(), double{0.1f});
}

TEST(SumTree, ChangesTakeNoMemoryHoweverManyComeBeforeTheNextFind) {
  Tree made(1'000'000);
  const std::uint64_t before = AllocatedBytes();
  double total = 0;
  for (std::size_t leaf = 0; leaf < 1'000'000; leaf += 16) {
    made.tree.Set(leaf, 0.5f);
    total += 0.5;
  }
  EXPECT_EQ(AllocatedBytes(), before);
  EXPECT_EQ(made.tree.total(), total);
}

TEST(SumTree, NeverFindsALeafOfZero) {
  Tree made(4000);
  Random random(6);
  for (int i = 0; i < 400; ++i)
    made.tree.Set(random.UniformInt(4000), std::pow(10.0f, 12.0f * random.Uniform() - 6.0f));
  const double total = made.tree.total();
  for (int i = 0; i < 100'000; ++i)
    ASSERT_GT(made.tree.Get(made.Find(total * random.UniformDouble())), 0.0f);
  ASSERT_GT(made.tree.Get(made.Find(total)), 0.0f) << "rounding may lead to the very end";
  ASSERT_GT(made.tree.Get(made.Find(std::nextafter(total, 0.0))), 0.0f);
  ASSERT_GT(made.tree.Get(made.Find(0.0)), 0.0f);
}

}  // namespace
}  // namespace murmurate
