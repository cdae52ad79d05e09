#include "shared/core/thread_team.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <latch>
#include <string>
#include <thread>

#include "tests/allocations.h"
#include "tests/core/few_threads.h"

namespace murmurate {
namespace {

TEST(ThreadTeam, EveryShareIsDoneOnceAndAtTheSameTime) {
  ThreadTeam team("team-test", 4);
  ASSERT_EQ(team.size(), 4);
  std::array<int, 4> done{};
  for (int round = 1; round <= 100; ++round) {
    std::latch together(4);  // opens only when all four are in it
    team.Run([&](int share) {
      together.arrive_and_wait();
      done[share] += share + 1;
    });
    ASSERT_EQ(done, (std::array<int, 4>{round, 2 * round, 3 * round, 4 * round}));
  }
}

TEST(ThreadTeam, TheCallerDoesTheFirstShareAndTheOthersCarryTheTeamsName) {
  ThreadTeam team("mmr-team", 3);
  std::array<std::array<char, 16>, 3> names{};
  std::array<sigset_t, 3> blocked;
  std::thread::id first;
  team.Run([&](int share) {
    if (share == 0) first = std::this_thread::get_id();
    pthread_getname_np(pthread_self(), names[share].data(), names[share].size());
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked[share]);
  });
  EXPECT_EQ(first, std::this_thread::get_id());
  EXPECT_STREQ(names[1].data(), "mmr-team.2");
  EXPECT_STREQ(names[2].data(), "mmr-team.3");
  EXPECT_EQ(sigismember(&blocked[0], SIGTERM), 0);
  EXPECT_EQ(sigismember(&blocked[1], SIGTERM), 1);
}

TEST(ThreadTeam, ATeamOfOneIsItsCaller) {
  ThreadTeam team("alone", 1);
  int calls = 0;
  team.Run([&](int share) { calls += share == 0 ? 1 : 100; });
  EXPECT_EQ(calls, 1);
}

TEST(ThreadTeam, RunAllocatesNothing) {
  ThreadTeam team("team-test", 3);
  std::array<int, 3> sums{};
  team.Run([&](int share) { sums[share] = share; });  // all have started
  const std::uint64_t before = AllocationsOfAllThreads();
  for (int round = 0; round < 10; ++round) team.Run([&](int share) { sums[share] += round; });
  EXPECT_EQ(AllocationsOfAllThreads(), before);
  EXPECT_EQ(sums, (std::array<int, 3>{45, 46, 47}));
}

std::ptrdiff_t ThreadsNamed(const std::string& wanted) {
  std::ptrdiff_t found = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream file(task.path() / "comm");
    std::string name;
    if (std::getline(file, name) && name == wanted) ++found;
  }
  return found;
}

TEST(ThreadTeam, NoThreadIsLeftAfterwards) {
  {
    ThreadTeam idle("idle", 2), used("used", 2);
    idle.Run([](int) {});  // its thread has its name by now
    for (int round = 0; round < 3; ++round) used.Run([](int) {});
    EXPECT_EQ(ThreadsNamed("idle.2"), 1);
    EXPECT_EQ(ThreadsNamed("used.2"), 1);
  }
  // A thread that was joined may stay in the list for a moment.
  const auto left = [] { return ThreadsNamed("idle.2") + ThreadsNamed("used.2"); };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (left() > 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(left(), 0);
}

TEST(ThreadTeam, ThatCannotBeCompleteThrowsAndLeavesNoThread) {
  const FewThreads two_fit(2);
  EXPECT_THROW(ThreadTeam("short", 16), std::system_error);
  const auto left = [] { return ThreadsNamed("short.2") + ThreadsNamed("short.3"); };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (left() > 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_EQ(left(), 0);
}

TEST(ThreadTeam, OneThatNeverRanEnds) { ThreadTeam team("never", 4); }

}  // namespace
}  // namespace murmurate
