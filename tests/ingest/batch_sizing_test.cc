#include "server/ingest/batch_sizing.h"

#include <gtest/gtest.h>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr BatchShape kUsual{128, 16};  // 2048 steps
constexpr std::int64_t kSecond = kNanosecondsPerSecond;

BatchSizing Free() { return {.length_free = true, .steps_free = true, .most_steps = 1 << 15}; }

TEST(BatchSizing, FewAgentsChangeNothing) {
  for (const int agents : {0, 1, 4, 8, 16}) EXPECT_EQ(ShapeFor(kUsual, Free(), agents, 0), kUsual);
}

TEST(BatchSizing, ManyAgentsShortenTrajectoriesAndThenEnlargeBatches) {
  EXPECT_EQ(ShapeFor(kUsual, Free(), 17, 0), (BatchShape{64, 32}));
  EXPECT_EQ(ShapeFor(kUsual, Free(), 128, 0), (BatchShape{16, 128}));
  EXPECT_EQ(ShapeFor(kUsual, Free(), 512, 0), (BatchShape{8, 256}));
  EXPECT_EQ(ShapeFor(kUsual, Free(), 1000, 0), (BatchShape{8, 512}));
  EXPECT_EQ(ShapeFor(kUsual, Free(), 5000, 0), (BatchShape{8, 4096}));
  EXPECT_EQ(ShapeFor(kUsual, Free(), 10'000, 0), (BatchShape{4, 8192}));
}

TEST(BatchSizing, WhatIsUnderWayIsAtMostTwoBatchesWhereMemoryAllows) {
  for (int agents = 1; agents <= 10'000; agents += 7) {
    const BatchShape shape = ShapeFor(kUsual, Free(), agents, 0);
    EXPECT_LE(agents * shape.length, 2 * shape.steps()) << agents;
    EXPECT_EQ(shape.steps() % 2048, 0);
  }
}

TEST(BatchSizing, MemoryLimitsTheBatch) {
  BatchSizing sizing = Free();
  sizing.most_steps = 4096;
  EXPECT_EQ(ShapeFor(kUsual, sizing, 10'000, 0), (BatchShape{4, 1024}));
}

TEST(BatchSizing, AGameThatIsSlowHasSmallBatches) {
  // Five decisions a second: 2048 of them would take seven minutes.
  EXPECT_EQ(ShapeFor(kUsual, Free(), 1, 5), (BatchShape{128, 2}));
  EXPECT_EQ(ShapeFor(kUsual, Free(), 4, 20), (BatchShape{128, 8}));
  EXPECT_EQ(ShapeFor(kUsual, Free(), 1, 60), kUsual);
}

TEST(BatchSizing, WhatTheConfigSaysStays) {
  BatchSizing length_set = Free(), steps_set = Free();
  length_set.length_free = false;
  steps_set.steps_free = false;
  EXPECT_EQ(ShapeFor(kUsual, length_set, 128, 0), (BatchShape{128, 64}));
  EXPECT_EQ(ShapeFor(kUsual, steps_set, 10'000, 0), (BatchShape{4, 512}));
  EXPECT_EQ(ShapeFor(kUsual, {}, 10'000, 0.1), kUsual);
  BatchFit fit(kUsual, {});
  EXPECT_FALSE(fit.Follow(10'000, 0, 0));
  EXPECT_FALSE(fit.Follow(10'000, 0, kSecond));
}

TEST(BatchFit, FollowsMoreAgentsWhenTheirNumberStays) {
  BatchFit fit(kUsual, Free());
  std::int64_t now = kSecond;
  for (int agents = 1; agents < 128; ++agents, now += kSecond / 100)
    EXPECT_FALSE(fit.Follow(agents, 0, now)) << "they come one after the other: " << agents;
  EXPECT_FALSE(fit.Follow(128, 0, now));
  const auto shape = fit.Follow(128, 0, now + kSecond * 3 / 5);
  ASSERT_TRUE(shape);
  EXPECT_EQ(*shape, (BatchShape{16, 128}));
  EXPECT_EQ(fit.reason(), "128 agents play");
  EXPECT_FALSE(fit.Follow(128, 0, now + kSecond)) << "it has that shape";
}

TEST(BatchFit, FollowsFewerAgentsOnlyWhenTheyStayAway) {
  BatchFit fit(kUsual, Free());
  ASSERT_TRUE(fit.Follow(128, 0, 0)) << "the first agents";
  EXPECT_FALSE(fit.Follow(8, 0, 2 * kSecond));
  EXPECT_FALSE(fit.Follow(8, 1'000'000, 5 * kSecond));
  EXPECT_FALSE(fit.Follow(128, 1'000'000, 6 * kSecond)) << "they were restarted";
  EXPECT_FALSE(fit.Follow(8, 2'000'000, 7 * kSecond));
  EXPECT_FALSE(fit.Follow(8, 3'000'000, 16 * kSecond));
  const auto shape = fit.Follow(8, 4'000'000, 18 * kSecond);
  ASSERT_TRUE(shape);
  EXPECT_EQ(*shape, kUsual);
}

TEST(BatchFit, StaysWhereFewMoreAgentsWouldBringItBack) {
  BatchFit fit(kUsual, Free());
  ASSERT_TRUE(fit.Follow(17, 0, 0)) << "the first agents";
  for (int s = 2; s < 60; ++s) EXPECT_FALSE(fit.Follow(16, 1000u * s, s * kSecond));
}

TEST(BatchFit, NoAgentsAtAllChangeNothing) {
  BatchFit fit(kUsual, Free());
  ASSERT_TRUE(fit.Follow(128, 0, 0)) << "the first agents";
  for (int s = 2; s < 60; ++s) EXPECT_FALSE(fit.Follow(0, 0, s * kSecond));
}

TEST(BatchFit, MeasuresASlowGameAndSaysSo) {
  BatchFit fit(kUsual, Free());
  std::optional<BatchShape> changed;
  int after = 0;
  for (int s = 0; s < 60 && !changed; ++s, ++after)
    changed = fit.Follow(1, 5u * static_cast<std::uint64_t>(s), s * kSecond);
  ASSERT_TRUE(changed);
  EXPECT_EQ(*changed, (BatchShape{128, 2}));
  EXPECT_LE(after, 25);
  EXPECT_EQ(fit.reason(), "1 agent plays, 5 steps a second together");
}

}  // namespace
}  // namespace murmurate
