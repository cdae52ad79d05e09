// What the game's thread may never do: allocate, lock, or call the system. Each of these is
// replaced for the whole program by one that counts, on the thread that asked for counting.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "client/platform.h"
#include "tests/allocations.h"
#include "tests/client/workbench.h"
#include "tests/experience/mixed_trajectory.h"

namespace {

thread_local bool counting = false;
thread_local std::uint64_t locks = 0, calls = 0;

template <typename Function>
Function* Real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static const auto real = Real<int(pthread_mutex_t*)>("pthread_mutex_lock");
  locks += counting;
  return real(mutex);
}

ssize_t write(int fd, const void* bytes, size_t size) {
  static const auto real = Real<ssize_t(int, const void*, size_t)>("write");
  calls += counting;
  return real(fd, bytes, size);
}

// Futexes have no function of their own: whoever wants one comes by here.
long syscall(long number, ...) {
  using SystemCall = long(long, long, long, long, long, long, long);
  static const auto real = Real<SystemCall>("syscall");
  calls += counting;
  va_list arguments;
  va_start(arguments, number);
  long a[6];
  for (long& argument : a) argument = va_arg(arguments, long);
  va_end(arguments);
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

}  // extern "C"

namespace murmurate {
namespace {

thread_local std::uint64_t allocations = 0;  // and frees

struct Counted {
  Counted() : before(Allocations() + Frees()) {
    locks = calls = 0;
    counting = true;
  }
  ~Counted() {
    counting = false;
    allocations = Allocations() + Frees() - before;
  }
  const std::uint64_t before;
};

TEST(HotPath, TheCountersCount) {
  {
    const Counted counted;
    operator delete(operator new(1));
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    syscall(SYS_getpid);
  }
  EXPECT_EQ(allocations, 2u);
  EXPECT_EQ(locks, 1u);
  EXPECT_EQ(calls, 1u);
}

/// A million steps while weights come a hundred times a second and blocks are taken away.
/// Every trouble at once, and ten thousand steps without an end.
TEST(HotPath, WhatIsPlayedWronglyIsNotedWithoutAllocationLockOrCall) {
  Workbench bench(128);
  bench.Publish(1);
  const auto good = bench.Observation(0);
  auto bad = good;
  bad[1] = std::nanf("");
  const std::vector<std::uint8_t> nothing(4, 0), anything(4, 1);
  for (int step = 0; step < 300; ++step) bench.agent->Act(good);  // each block has been touched
  {
    const Counted counted;
    for (int step = 0; step < 30'000; ++step) {
      bench.agent->observation().Observe(std::span<const float>(step % 1000 == 7 ? bad : good));
      bench.agent->observation().SetMask(step % 1000 == 8 ? nothing : anything);
      bench.agent->Step();
      bench.agent->Reward(step % 1000 == 9 ? std::nan("") : 1.0);
    }
  }
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(locks, 0u);
  EXPECT_EQ(calls, 0u);
  int sentences = 0;
  for (std::string sentence; bench.agent->shared().PopComplaint(&sentence);) ++sentences;
  EXPECT_EQ(sentences, 4);
}

TEST(HotPath, ActRewardAndEndNeitherAllocateNorLockNorCallTheSystem) {
  Workbench bench(128);
  bench.Publish(1);
  const auto first = bench.Observation(0);
  bench.agent->Act(first);
  std::atomic<bool> over{false};
  std::uint64_t sent = 0, published = 1;
  std::thread weights([&] {
    while (!over.load()) {
      bench.Publish(++published);
      bench.settings->Apply({static_cast<std::uint32_t>(published), {{"difficulty", 1.0}}});
      Nap(10000);
    }
  });
  double read = 0.0;
  std::thread sender([&] {
    while (!over.load()) {
      TrajectoryBlock* block = bench.ring->PopReady();
      if (block == nullptr) {
        Nap(50);
        continue;
      }
      bench.ring->Release(block);
      ++sent;
    }
  });
  std::vector<std::vector<float>> observations;
  for (int i = 0; i < 64; ++i) observations.push_back(bench.Observation(i));
  {
    const Counted counted;
    for (int step = 0; step < 1'000'000; ++step) {
      bench.agent->Act(observations[step % 64]);
      bench.agent->Reward(1.0);
      if (step % 50 == 7) bench.agent->episode().Report("kills", 1);
      if (step % 100 == 42) {
        bench.agent->End(kTerminated, kSuccess);
        read += bench.settings->Get("difficulty", 0.0);
      }
      if (step % 1000 == 99) bench.agent->End(kTruncated, observations[0]);
      if (step % 5000 == 77) bench.agent->Took(1);
      if (step % 7000 == 13) bench.agent->Discard();
    }
  }
  over.store(true);
  weights.join();
  sender.join();
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(locks, 0u);
  EXPECT_EQ(calls, 0u);
  EXPECT_GT(sent, 10u);
  EXPECT_GT(published, 3u);
  EXPECT_GT(read, 0.0);
}

TEST(HotPath, PinkNoiseNeitherAllocatesNorLocksNorCallsTheSystem) {
  PolicyAndValue spec = SmallSpec();
  spec.spaces.action = Box({2}, -1, 1);
  spec.continuous = {.squashed = true, .deterministic = true};
  Workbench bench(128, {}, spec);
  bench.Publish(
      1, {.mode = ActSettings::Mode::kGaussian, .sigma = 0.2f, .noise = ActSettings::Noise::kPink});
  const auto seen = bench.Observation(0);
  const auto play = [&](int steps) {
    for (int step = 0; step < steps; ++step) {
      bench.agent->observation().Observe(std::span<const float>(seen));
      bench.agent->Step();
      bench.agent->Reward(1.0);
      if (step % 100 == 42) bench.agent->End(kTerminated);
    }
  };
  play(300);  // each block has been touched
  {
    const Counted counted;
    play(20'000);
  }
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(locks, 0u);
  EXPECT_EQ(calls, 0u);
}

/// Several inputs, stacked frames, a recurrent state, masks, an action of parts.
TEST(HotPath, ActOfAnySpacesNeitherAllocatesNorLocks) {
  Workbench bench(16, {}, MixedSpec());
  bench.Publish(1);
  const std::array<float, 1> place = {0.5f};
  const std::array<std::int32_t, 1> kind = {2};
  const std::array<std::uint8_t, 4> camera = {1, 2, 3, 4};
  const std::array<std::uint8_t, 5> mask = {1, 0, 1, 1, 1};
  const auto show = [&] {
    return Observation{{"camera", camera}, {"place", place}, {"kind", kind}}.Mask(mask);
  };
  Action action;
  bench.agent->Play(show()), bench.agent->action().ReadAction(&action);
  const std::array<std::int32_t, 1> none = {7};
  const std::array<std::uint8_t, 5> nothing = {};
  const auto bad = [&] {
    return Observation{{"camera", camera}, {"place", place}, {"kind", none}}.Mask(nothing);
  };
  bench.agent->Play(bad());  // the first one makes a sentence
  {
    const Counted counted;
    for (int step = 0; step < 20'000; ++step) {
      bench.agent->Play(step % 70 == 3 ? bad() : show());
      bench.agent->action().ReadAction(&action);
      bench.agent->Reward(1.0);
      if (step % 50 == 7 && step % 70 != 3) bench.agent->Took(action);
      if (step % 100 == 42) bench.agent->End(kTerminated);
      if (step % 1000 == 99)
        bench.agent->observation().Observe(show()), bench.agent->End(kTruncated);
    }
  }
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(locks, 0u);
  EXPECT_EQ(calls, 0u);
}

TEST(HotPath, AHandOverToASleepingSenderIsOneSystemCall) {
  Workbench bench(4);
  bench.Publish(1);
  const auto observation = bench.Observation(0);
  for (int step = 0; step < 4; ++step) bench.agent->Act(observation);
  ASSERT_TRUE(bench.wakeup->MaySleep(true, [] { return false; }));
  {
    const Counted counted;
    for (int step = 0; step < 9; ++step) bench.agent->Act(observation);
  }
  EXPECT_EQ(calls, 1u) << "three blocks, one wake";
  EXPECT_EQ(locks, 0u);
  EXPECT_EQ(allocations, 0u);
}

TEST(HotPath, AGroupNeitherAllocatesNorLocks) {
  Workbench bench(16);
  bench.Publish(1);
  std::vector<std::unique_ptr<BenchAgent>> agents;
  std::vector<AgentCore*> group;
  for (int i = 0; i < 8; ++i) {
    agents.push_back(std::make_unique<BenchAgent>(bench.model, i, 0, i == 0 ? 8 : 1));
    agents.back()->shared().Fit(BuffersOf(bench.policies, agents.back()->shared().rows(), 16));
    group.push_back(agents.back().get());
  }
  std::vector<float> observations(8 * 3, 0.25f);
  std::vector<std::int32_t> actions(8);
  {
    const Counted counted;
    for (int step = 0; step < 1000; ++step) {
      ActTogether(group, observations, actions);
      for (const auto& agent : agents) agent->Reward(1);
    }
  }
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(locks, 0u);
  EXPECT_EQ(calls, 0u);
}

}  // namespace
}  // namespace murmurate
