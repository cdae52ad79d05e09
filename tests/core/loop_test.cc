#include "shared/core/loop.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "tests/core/few_threads.h"

namespace murmurate {
namespace {

/// A step that waits until it is woken.
struct Sleeper {
  std::mutex mutex;
  std::condition_variable condition;
  bool woken = false;
  int waiting = 0;

  void Step() {
    std::unique_lock lock(mutex);
    ++waiting;
    condition.notify_all();
    condition.wait(lock, [this] { return woken; });
  }
  void Wake() {
    std::lock_guard lock(mutex);
    woken = true;
    condition.notify_all();
  }
};

TEST(Loop, DestructorWakesAStepThatWaits) {
  Sleeper sleeper;
  {
    Loop loop(
        "test-loop", [&] { sleeper.Step(); }, [&] { sleeper.Wake(); });
    std::unique_lock lock(sleeper.mutex);
    ASSERT_TRUE(sleeper.condition.wait_for(lock, std::chrono::seconds(60),
                                           [&] { return sleeper.waiting > 0; }));
  }
  EXPECT_TRUE(sleeper.woken);
}

TEST(Loop, StepIsNotCalledAgainAfterRequestStop) {
  std::atomic<int> steps{0};
  {
    Loop* self = nullptr;
    std::atomic<bool> ready{false};
    Loop loop("test-loop", [&] {
      while (!ready.load()) std::this_thread::yield();
      ++steps;
      self->RequestStop();
    });
    self = &loop;
    ready = true;
  }
  EXPECT_LE(steps, 1);
}

TEST(Loop, ThreadCarriesItsNameAndBlocksAllSignals) {
  std::atomic<bool> done{false};
  std::string name(16, '\0');
  sigset_t blocked;
  {
    Loop loop("mmr-test", [&] {
      if (done.load()) return;
      pthread_getname_np(pthread_self(), name.data(), name.size());
      pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
      done = true;
    });
    while (!done.load()) std::this_thread::yield();
  }
  EXPECT_STREQ(name.c_str(), "mmr-test");
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 1);
  EXPECT_EQ(sigismember(&blocked, SIGINT), 1);
  sigset_t ours;
  pthread_sigmask(SIG_BLOCK, nullptr, &ours);
  EXPECT_EQ(sigismember(&ours, SIGTERM), 0) << "the starting thread keeps its own mask";
}

TEST(Loop, ThatGetsNoThreadLeavesItsStartersSignalsAlone) {
  const FewThreads none_fits(0);
  EXPECT_THROW(Loop("test-loop", [] {}), std::system_error);
  sigset_t ours;
  pthread_sigmask(SIG_BLOCK, nullptr, &ours);
  EXPECT_EQ(sigismember(&ours, SIGTERM), 0);
}

TEST(LoopDeathTest, LongNameIsABrokenPromise) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(Loop("sixteen-letters-", [] {}), "15 characters");
}

}  // namespace
}  // namespace murmurate
