#include "server/operate/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "shared/core/clock.h"
#include "shared/model/safetensors.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using WhenTaken = RunDirectory::WhenTaken;

TEST(RunDirectory, SecondHolderIsRefusedAndToldWhoHoldsIt) {
  TemporaryFolder folder;
  auto first = RunDirectory::Open(folder.path(), "a", WhenTaken::kRefuse);
  ASSERT_TRUE(first.ok());
  auto second = RunDirectory::Open(folder.path(), "a", WhenTaken::kRefuse);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyRunning);
  EXPECT_THAT(second.status().message(), HasSubstr("process " + std::to_string(getpid())));
  EXPECT_THAT(second.status().message(), HasSubstr("murmurate stop"));
}

TEST(RunDirectory, HasOneHolderAtATimeHoweverFastTheyFollowEachOther) {
  TemporaryFolder folder;
  std::atomic<int> holders{0}, taken{0}, doubled{0};
  const std::int64_t deadline = MonotonicNs() + 20 * kNanosecondsPerSecond;
  const auto compete = [&] {
    // A holder that loses the processor lets the others try in vain: then go on.
    for (int i = 0; (i < 3000 || taken <= 100) && MonotonicNs() < deadline; ++i) {
      auto run = RunDirectory::Open(folder.path(), "a", WhenTaken::kRefuse);
      if (!run.ok()) continue;
      ++taken;
      doubled += ++holders > 1;
      std::this_thread::yield();
      --holders;
    }
  };
  std::thread one(compete), two(compete), three(compete);
  for (std::thread* thread : {&one, &two, &three}) thread->join();
  EXPECT_GT(taken, 100);
  EXPECT_EQ(doubled, 0);
}

TEST(RunDirectory, LeavesNeitherLockNorAddress) {
  TemporaryFolder folder;
  {
    auto run = RunDirectory::Open(folder.path(), "a", WhenTaken::kRefuse);
    ASSERT_TRUE(run.ok() && run->Write("address.json", "{}").ok() &&
                run->Write("config.toml", "").ok());
    EXPECT_TRUE(fs::exists(run->path() + "/lock"));
  }
  EXPECT_FALSE(fs::exists(folder.path() + "/a/lock"));
  EXPECT_FALSE(fs::exists(folder.path() + "/a/address.json"));
  EXPECT_TRUE(fs::exists(folder.path() + "/a/config.toml"));
}

TEST(RunDirectory, AnEarlierRunIsNeverOverwritten) {
  TemporaryFolder folder;
  {
    auto run = RunDirectory::Open(folder.path(), "a", WhenTaken::kRefuse);
    ASSERT_TRUE(run.ok() && run->Write("config.toml", "first").ok());
  }
  const auto refused = RunDirectory::Open(folder.path(), "a", WhenTaken::kRefuse);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.status().message(), HasSubstr("--fresh"));
  {
    auto next = RunDirectory::Open(folder.path(), "a", WhenTaken::kNextName);
    ASSERT_TRUE(next.ok());
    EXPECT_EQ(next->name(), "a-2");
  }
  auto fresh = RunDirectory::Open(folder.path(), "a", WhenTaken::kFresh);
  ASSERT_TRUE(fresh.ok());
  EXPECT_EQ(*ReadFile(folder.path() + "/a.1/config.toml", 100), "first");
  EXPECT_FALSE(fs::exists(folder.path() + "/a/config.toml"));
}

TEST(RunDirectory, ALockLeftByADeadProcessDoesNotHoldIt) {
  TemporaryFolder folder;
  fs::create_directories(folder.path() + "/a");
  const std::string dead = "999999\n";
  ASSERT_TRUE(WriteFileAtomically(folder.path() + "/a/lock",
                                  std::as_bytes(std::span(dead.data(), dead.size())))
                  .ok());
  EXPECT_TRUE(RunDirectory::Open(folder.path(), "a", WhenTaken::kRefuse).ok());
}

}  // namespace
}  // namespace murmurate
