#include "client/block_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "client/report_names.h"
#include "shared/core/random.h"
#include "tests/client/interrupter.h"

namespace murmurate {
namespace {

TrajectoryLayout SmallLayout() { return {Spaces{Box({4}), Discrete(2)}, 128}; }

/// All spare blocks, until there is none.
std::vector<TrajectoryBlock*> TakeAll(BlockPool& pool) {
  std::vector<TrajectoryBlock*> taken;
  while (TrajectoryBlock* block = pool.AcquireSpare()) taken.push_back(block);
  return taken;
}

TEST(BlockPool, OneAgentHasEightBlocks) {
  BlockPool pool(SmallLayout());
  ASSERT_NE(pool.AcquireOwn(), nullptr);
  EXPECT_EQ(TakeAll(pool).size(), 7u);
}

TEST(BlockPool, TenThousandAgentsShareSpareBlocksOfFourMebibytes) {
  BlockPool pool(SmallLayout());
  pool.Expect(10'000);
  std::set<TrajectoryBlock*> own;
  for (int i = 0; i < 10'000; ++i) own.insert(pool.AcquireOwn());
  EXPECT_EQ(own.size(), 10'000u);
  EXPECT_EQ(pool.layout().block_bytes, 7360u);
  EXPECT_EQ(TakeAll(pool).size(), (4u << 20) / 7360);
}

TEST(BlockPool, AgentsThatComeOneByOneShareNoMore) {
  BlockPool pool(SmallLayout());
  for (int i = 0; i < 3000; ++i) pool.AcquireOwn();
  EXPECT_EQ(TakeAll(pool).size(), (4u << 20) / 7360);
}

TEST(BlockPool, LargeTrajectoriesHaveSixtyFourSpareBlocksTogether) {
  BlockPool pool({Spaces{Box({100'000}), Discrete(2)}, 128});
  pool.Expect(40);
  EXPECT_EQ(TakeAll(pool).size(), 64u);
}

TEST(BlockPool, AnAgentThatGoesLeavesItsBlockToTheNext) {
  BlockPool pool(SmallLayout());
  TrajectoryBlock* const block = pool.AcquireOwn();
  pool.ReleaseOwn(block);
  EXPECT_EQ(pool.AcquireOwn(), block);
}

TEST(BlockPool, AnOwnBlockTakesLessMemoryThanASpareOne) {
  BlockPool pool(SmallLayout());
  pool.Expect(2);
  const TrajectoryBlock *first = pool.AcquireOwn(), *second = pool.AcquireOwn();
  // 128 steps of 16 + 4 + 4 + 4 + 1 bytes, 16 final rows, a row, masks of 2, 16 episodes.
  EXPECT_EQ(second->data - first->data, 3712 + 256 + 64 + 256 + 256);
  EXPECT_EQ(first->max_episodes, 16);
  EXPECT_EQ(pool.AcquireSpare()->max_episodes, 192);
}

/// Two threads that take and give as fast as they can: a block in two hands would lose a mark.
TEST(BlockPool, UnderHammeringNoBlockIsInTwoHands) {
  BlockPool pool(SmallLayout());
  pool.AcquireOwn();
  std::atomic<int> doubled{0};
  const auto hammer = [&](int mark) {
    Random random(static_cast<std::uint64_t>(mark));
    std::vector<TrajectoryBlock*> held;
    for (int round = 0; round < 2'000'000 || !held.empty(); ++round) {
      if (round < 2'000'000 && held.size() < 3 && random.UniformInt(2) == 0) {
        held.push_back(pool.AcquireSpare());
        held.back()->steps = mark;
      } else if (!held.empty()) {
        std::swap(held[random.UniformInt(static_cast<std::uint32_t>(held.size()))], held.back());
        doubled += held.back()->steps != mark;
        pool.ReleaseSpare(held.back());
        held.pop_back();
      }
    }
  };
  std::thread other([&] { hammer(2); });
  {
    const Interrupter interrupter(other.native_handle());
    hammer(1);
  }
  other.join();
  EXPECT_EQ(doubled.load(), 0);
  EXPECT_EQ(TakeAll(pool).size(), 7u) << "none was lost";
}

TEST(ReportNames, OneNameHasOneNumberForAllAgents) {
  ReportNames names;
  const int kills = names.Find("kills"), odd = names.Find("odd name!");
  EXPECT_EQ(names.Find("kills"), kills);
  EXPECT_TRUE(names.Is(odd, "odd name!"));
  EXPECT_FALSE(names.Is(kills, "odd name!"));
  EXPECT_EQ(names.Text(odd), "odd_name_");
  EXPECT_EQ(names.Find(""), -1);
  EXPECT_EQ(names.Find(std::string(70, 'x')), names.Find(std::string(64, 'x')));
}

TEST(ReportNames, WhenAllNumbersAreGivenOnlyKnownNamesHaveOne) {
  ReportNames names;
  for (int i = 0; i < ReportNames::kMost; ++i) EXPECT_EQ(names.Find(std::to_string(i)), i);
  EXPECT_EQ(names.Find("another"), -1);
  EXPECT_EQ(names.Find("17"), 17);
}

TEST(ReportNames, TwoThreadsThatAddTheSameNamesReadThemWhole) {
  ReportNames names;
  const auto add = [&] {
    for (int i = 0; i < 100; ++i) {
      const std::string name = "name of some length " + std::to_string(i);
      const int number = names.Find(name);
      EXPECT_TRUE(number >= 0 && names.Is(number, name));
    }
  };
  std::thread other(add);
  add();
  other.join();
}

}  // namespace
}  // namespace murmurate
