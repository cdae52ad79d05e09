#include "client/trajectory_ring.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "client/client_model.h"
#include "client/platform.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"
#include "tests/client/interrupter.h"

namespace murmurate {
namespace {

std::shared_ptr<BlockPool> SmallPool() {
  return std::make_shared<BlockPool>(TrajectoryLayout(Spaces{Box({2}), Discrete(2)}, 4));
}

TEST(TrajectoryRing, BlocksLieOn64ByteBordersAndApart) {
  TrajectoryRing ring(SmallPool());
  const std::size_t own_bytes = ring.pool().episodes_offset() + 16 * sizeof(EpisodeRecord);
  std::vector<std::byte*> places;
  for (int i = 0; i < TrajectoryRing::kBlocks; ++i) {
    TrajectoryBlock* block = ring.AcquireFree();
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data) % 64, 0u);
    places.push_back(block->data);
  }
  EXPECT_EQ(ring.AcquireFree(), nullptr);
  for (std::size_t i = 1; i < places.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto& [low, high] = std::minmax(places[i], places[j]);
      EXPECT_GE(high - low, static_cast<std::ptrdiff_t>(
                                low == places[0] ? own_bytes : ring.layout().block_bytes));
    }
  }
}

TEST(TrajectoryRing, AgentsOfOnePoolEachHaveTheirOwnBlockAndShareTheSpareOnes) {
  const auto pool = SmallPool();
  TrajectoryRing greedy(pool), modest(pool);
  std::vector<TrajectoryBlock*> taken;
  while (TrajectoryBlock* block = greedy.AcquireFree()) taken.push_back(block);
  EXPECT_EQ(taken.size(), 8u) << "one agent has eight at most";
  std::vector<TrajectoryBlock*> left;
  while (TrajectoryBlock* block = modest.AcquireFree()) left.push_back(block);
  EXPECT_EQ(left.size(), 8u);
  while (pool->AcquireSpare() != nullptr) {
  }
  modest.ReturnUnused(left[0]);
  EXPECT_EQ(modest.AcquireFree(), left[0]) << "its own: nobody else can have it";
  EXPECT_EQ(modest.AcquireFree(), nullptr);
  greedy.ReturnUnused(taken[1]);
  modest.ReturnUnused(left[7]);
  EXPECT_NE(modest.AcquireFree(), nullptr);
}

TEST(TrajectoryRing, ARingThatEndsGivesItsBlocksBack) {
  const auto pool = SmallPool();
  {
    TrajectoryRing ring(pool);
    while (TrajectoryBlock* block = ring.AcquireFree()) ring.HandOver(block);
  }
  TrajectoryRing next(pool);
  int blocks = 0;
  while (next.AcquireFree() != nullptr) ++blocks;
  EXPECT_EQ(blocks, 8);
}

TEST(TrajectoryRing, EpisodesLieBehindWhatIsFilledAndComeBackWithTheBlock) {
  TrajectoryRing ring(SmallPool());
  TrajectoryBlock* const block = ring.AcquireFree();
  for (int i = 0; i < 3; ++i) ring.EpisodesOf(block)[i] = {.raw_return = 1.5 * i, .length = 7};
  block->episodes = 3;
  ring.HandOver(block);
  std::size_t bytes = 0;
  const auto columns = ring.FilledColumns(block, &bytes);
  EXPECT_EQ(bytes, 3 * sizeof(EpisodeRecord)) << "nothing else is sent";
  EXPECT_EQ(columns[static_cast<int>(Column::kEpisodes)].offset, 0u);
  ASSERT_EQ(ring.ReclaimOldest(), block);
  EXPECT_EQ(ring.EpisodesOf(block)[2], (EpisodeRecord{.raw_return = 3.0, .length = 7}));
}

TEST(TrajectoryRing, BlocksLeaveInTheOrderTheyWereHandedOver) {
  TrajectoryRing ring(SmallPool());
  TrajectoryBlock* first = ring.AcquireFree();
  TrajectoryBlock* second = ring.AcquireFree();
  ring.HandOver(second);
  ring.HandOver(first);
  EXPECT_EQ(ring.PopReady(), second);
  EXPECT_EQ(ring.ReclaimOldest(), first);
  EXPECT_EQ(ring.PopReady(), nullptr);
}

/// A game that hands over and takes back as fast as it can, a sender that takes. Every block handed
/// over must end in exactly one pair of hands, and those the sender gets come in order.
struct Hammer {
  TrajectoryRing ring{SmallPool()};
  std::atomic<bool> over{false};
  std::uint64_t handed_over = 0, dropped = 0, sent = 0, misplaced = 0, torn = 0;

  static void Fill(TrajectoryBlock* block, std::uint64_t number) {
    block->first_step = number;
    for (int i = 0; i < 8; ++i) reinterpret_cast<std::uint64_t*>(block->data)[i] = number;
  }
  static bool Whole(const TrajectoryBlock* block) {
    for (int i = 0; i < 8; ++i) {
      if (reinterpret_cast<const std::uint64_t*>(block->data)[i] != block->first_step) return false;
    }
    return true;
  }
  void Play() {
    const std::int64_t end = MonotonicNs() + kNanosecondsPerSecond / 2;
    Random random(1);
    for (std::uint64_t number = 1; MonotonicNs() < end; ++number) {
      // Bursts that use up the ring, and pauses that let the sender empty it.
      // Bursts that use up the ring, and pauses that let the sender empty it.
      if (number % 64 == 0) Nap(static_cast<int>(random.UniformInt(50)));
      TrajectoryBlock* block = ring.AcquireFree();
      if (block == nullptr) {
        block = ring.ReclaimOldest();
        if (block == nullptr) continue;
        ++dropped;
      }
      Fill(block, number);
      ring.HandOver(block);
      ++handed_over;
    }
    over.store(true);
  }
  void Send() {
    std::uint64_t last = 0;
    for (;;) {
      const bool last_round = over.load();
      TrajectoryBlock* block = ring.PopReady();
      if (block == nullptr) {
        if (last_round) return;
        std::this_thread::yield();
        continue;
      }
      ++sent;
      misplaced += block->first_step <= last;
      torn += !Whole(block);
      last = block->first_step;
      ring.Release(block);
    }
  }
};

TEST(TrajectoryRing, UnderHammeringNothingIsLostDoubledTornOrOutOfOrder) {
  Hammer hammer;
  std::thread sender([&] { hammer.Send(); });
  {
    const Interrupter interrupter(sender.native_handle());
    hammer.Play();
  }
  sender.join();
  EXPECT_EQ(hammer.sent + hammer.dropped, hammer.handed_over);
  EXPECT_EQ(hammer.misplaced, 0u);
  EXPECT_EQ(hammer.torn, 0u);
  EXPECT_GT(hammer.sent, 200u);
  EXPECT_GT(hammer.dropped, 100u);
}

/// One block at a time: the next is handed over only when the sender has taken the last. A wake
/// that is lost shows as a sleep to the end.
struct PingPong {
  TrajectoryRing ring{SmallPool()};
  SenderWakeup wakeup;
  std::atomic<std::int64_t> ready{0};  ///< as ClientModel has it
  std::atomic<std::uint64_t> taken{0};
  std::atomic<int> slept_through{0};

  bool Woken() const {
    pollfd bell_fd{wakeup.wake.fd(), POLLIN, 0};
    return poll(&bell_fd, 1, 200) > 0;
  }
  void Send(std::uint64_t rounds, SlowStores& stores) {
    while (taken.load(std::memory_order_acquire) < rounds) {
      if (TrajectoryBlock* block = ring.PopReady()) {
        ready.fetch_sub(1, std::memory_order_relaxed);
        ring.Release(block);
        taken.fetch_add(1, std::memory_order_release);
        continue;
      }
      stores.Begin();
      if (!wakeup.MaySleep(true, [&] { return ready.load(std::memory_order_seq_cst) > 0; }))
        continue;
      slept_through += !Woken() && ring.HasReady();
      wakeup.wake.Clear();
    }
  }
  void Play(std::uint64_t rounds, SlowStores& stores) {
    Random random(2);
    for (std::uint64_t round = 0; round < rounds && slept_through < 3; ++round) {
      TrajectoryBlock* block = ring.AcquireFree();
      while (block == nullptr) block = ring.AcquireFree();
      // From before the sender looks to after it sleeps.
      for (std::uint32_t i = random.UniformInt(1500); i > 0; --i) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
      }
      stores.Begin();
      ring.HandOver(block);
      ready.fetch_add(1, std::memory_order_seq_cst);
      wakeup.Notify();
      for (int spins = 0; taken.load(std::memory_order_acquire) <= round; ++spins) {
        if (spins % 500 == 499) std::this_thread::yield();
      }
    }
    taken.store(rounds);
    wakeup.wake.Set();
  }
};

TEST(TrajectoryRing, NoHandOverIsSleptThroughHoweverLateAStoreIsSeen) {
  PingPong game;
  SlowStores mine, theirs;
  std::thread sender([&] { game.Send(20'000, theirs); });
  game.Play(20'000, mine);
  sender.join();
  EXPECT_EQ(game.slept_through.load(), 0);
}

TEST(SenderWakeup, AHandOverWakesNobodyWhoDoesNotSleepOrCannotSend) {
  SenderWakeup wakeup;
  const auto awake = [&] {
    pollfd bell_fd{wakeup.wake.fd(), POLLIN, 0};
    return poll(&bell_fd, 1, 0) == 1;
  };
  wakeup.Notify();
  EXPECT_FALSE(awake()) << "the sender is busy: no system call";
  EXPECT_TRUE(wakeup.MaySleep(false, [] { return true; })) << "no credit: nothing to wake for";
  wakeup.Notify();
  EXPECT_FALSE(awake());
  EXPECT_FALSE(wakeup.MaySleep(true, [] { return true; }));
  EXPECT_TRUE(wakeup.MaySleep(true, [] { return false; }));
  wakeup.Notify();
  EXPECT_TRUE(awake());
}

}  // namespace
}  // namespace murmurate
