#include "server/parameters/hogwild.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <thread>
#include <vector>

#include "server/parameters/optimizers.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

using Numbers = std::vector<float>;

constexpr std::size_t kPiece = 1024, kThree = 3 * kPiece;  ///< floats

/// work(i) on threads that begin together.
void AtOnce(int count, const std::function<void(int)>& work) {
  std::atomic<int> ready = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ++ready;
      while (ready < count) std::this_thread::yield();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// Four threads add ones to the same few components; sums below 2^24 are exact, so one add that is
/// lost shows.
TEST(HogwildParameters, LosesNoAddUnderContention) {
  constexpr int kThreads = 4, kSteps = 100000;
  for (const bool locking : {false, true}) {
    HogwildParameters shared(Numbers{0, 100, -7}, kThreads, locking);
    AtOnce(kThreads, [&](int thread) {
      const Numbers gradient = {-1, 2, 0};
      for (int step = 0; step < kSteps; ++step) shared.Step(thread, 0.5f, 2.0f, gradient);
    });
    Numbers x(3);
    shared.Read(0, x);
    EXPECT_EQ(x, (Numbers{kThreads * kSteps, 100 - 2 * kThreads * kSteps, -7})) << locking;
  }
}

/// Thread t adds t + 1 to each of the components of three pieces and two more: 2000 (1 + ... + 8).
TEST(HogwildParameters, EightThreadsLoseNothingOfALargerBlock) {
  constexpr int kThreads = 8, kSteps = 2000;
  for (const bool locking : {false, true}) {
    HogwildParameters shared(Numbers(kThree + 2, -3.0f), kThreads, locking);
    AtOnce(kThreads, [&](int thread) {
      const Numbers gradient(kThree + 2, -static_cast<float>(thread + 1));
      for (int step = 0; step < kSteps; ++step) shared.Step(thread, 1.0f, 1.0f, gradient);
    });
    Numbers x(kThree + 2);
    shared.Read(0, x);
    EXPECT_EQ(x, Numbers(kThree + 2, 72000.0f - 3.0f)) << locking;
  }
}

/// Every step adds one to all components, so those of a piece are equal, and more than before.
TEST(HogwildParameters, EveryPieceThatIsReadIsWholeAndNewerThanTheLastOne) {
  constexpr int kThreads = 4, kSteps = 4000;
  HogwildParameters shared(Numbers(kThree, 0.0f), kThreads, false);
  std::atomic<int> torn = 0, older = 0;
  AtOnce(kThreads, [&](int thread) {
    const Numbers gradient(kThree, -1.0f);
    Numbers x(kThree), last(3, 0.0f);
    for (int step = 1; step <= kSteps; ++step) {
      const bool reads = thread == 0;  // one never steps
      if (reads) shared.Read(thread, x);
      if (!reads) shared.Step(thread, 1.0f, 1.0f, gradient, x);
      for (std::size_t piece = 0; piece < 3; ++piece) {
        const float first = x[piece * kPiece];
        const auto begin = x.begin() + static_cast<std::ptrdiff_t>(piece * kPiece);
        torn += std::count(begin, begin + kPiece, first) != kPiece;
        older += reads ? first < last[piece] : first <= last[piece];
        last[piece] = first;
      }
    }
  });
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(older, 0);
}

TEST(HogwildParameters, OneThreadHasTheBitsOfSgd) {
  constexpr std::size_t kCount = 2 * kPiece + 37;
  for (const bool locking : {false, true}) {
    Random random(3);
    const auto draw = [&] {
      Numbers numbers(kCount);
      for (float& number : numbers) number = static_cast<float>(random.Uniform()) - 0.5f;
      return numbers;
    };
    Numbers expected = draw(), x(kCount), seen(kCount);
    HogwildParameters shared(expected, 1, locking);
    Sgd sgd({});
    for (int step = 0; step < 50; ++step) {
      const Numbers gradient = draw();
      const auto scale = static_cast<float>(random.Uniform());
      sgd.Step(0.3f, scale, gradient, expected);
      shared.Step(0, 0.3f, scale, gradient, seen);
    }
    shared.Read(0, x);
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(x[i]), std::bit_cast<std::uint32_t>(expected[i]));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(seen[i]), std::bit_cast<std::uint32_t>(expected[i]));
    }
  }
}

/// A gradient of three pieces that can be read up to its middle: whoever steps along it stops
/// there, inside the second piece, until it is let go on.
class StoppingGradient {
 public:
  explicit StoppingGradient(float value) {
    void* const slot =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(slot, MAP_FAILED);
    numbers_ = static_cast<float*>(slot);
    std::fill_n(numbers_, kThree, value);
    EXPECT_EQ(pipe(go_on_), 0);
    stopped_ = false;
    struct sigaction action = {};
    action.sa_handler = [](int) {
      stopped_ = true;
      char byte = 0;
      if (read(go_on_[0], &byte, 1) != 1) _exit(1);
    };
    EXPECT_EQ(sigaction(SIGSEGV, &action, &before_), 0);
    EXPECT_EQ(mprotect(numbers_ + kPiece, kBytes / 3, PROT_NONE), 0);
  }
  ~StoppingGradient() {
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(numbers_, kBytes);
    for (const int end : go_on_) close(end);
  }

  std::span<const float> numbers() const { return {numbers_, kThree}; }
  bool stopped() const { return stopped_; }
  void GoOn() {
    EXPECT_EQ(mprotect(numbers_, kBytes, PROT_READ | PROT_WRITE), 0);
    EXPECT_EQ(write(go_on_[1], "", 1), 1);
  }

 private:
  static constexpr std::size_t kBytes = kThree * sizeof(float);  ///< three pages, too
  static inline std::atomic<bool> stopped_ = false;
  static inline int go_on_[2] = {-1, -1};
  float* numbers_ = nullptr;
  struct sigaction before_ = {};
};

TEST(HogwildParameters, AThreadThatIsStoppedInTheMiddleOfAStepHoldsUpNobody) {
  if (sysconf(_SC_PAGESIZE) != static_cast<long>(kPiece * sizeof(float)))
    GTEST_SKIP() << "a page is not a piece here";
  constexpr float kSteps = 1000;
  HogwildParameters shared(Numbers(kThree, 0.0f), 2, false);
  StoppingGradient stopping(-1.0f);
  std::thread stopped([&] { shared.Step(0, 1.0f, 1.0f, stopping.numbers()); });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!stopping.stopped() && std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  ASSERT_TRUE(stopping.stopped());
  auto other = std::async(std::launch::async, [&] {
    const Numbers gradient(kThree, -1.0f);
    for (float step = 0; step < kSteps; ++step) shared.Step(1, 1.0f, 1.0f, gradient);
    Numbers x(kThree);
    shared.Read(1, x);
    return x;
  });
  EXPECT_EQ(other.wait_until(deadline), std::future_status::ready) << "held up";
  const bool in_time = other.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  stopping.GoOn();
  stopped.join();
  Numbers x = other.get();
  if (in_time) {
    Numbers expected(kThree, kSteps);
    std::fill_n(expected.begin(), kPiece, kSteps + 1);  // what the stopped one had done
    EXPECT_EQ(x, expected);
  }
  shared.Read(1, x);
  EXPECT_EQ(x, Numbers(kThree, kSteps + 1));
}

/// Every step adds the same to all components, and a locked Read sees none between two of them.
TEST(HogwildParameters, WithALockEveryReadIsWhole) {
  constexpr std::size_t kCount = 16384;
  constexpr int kSteps = 2000;
  HogwildParameters shared(Numbers(kCount, 0.0f), 2, true);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    const Numbers gradient(kCount, -1.0f);
    for (int step = 0; step < kSteps; ++step) shared.Step(1, 1.0f, 1.0f, gradient);
    done = true;
  });
  std::size_t torn = 0;
  Numbers x(kCount);
  while (!done) {
    shared.Read(0, x);
    for (const float value : x) torn += value != x[0];
  }
  writer.join();
  EXPECT_EQ(torn, 0u);
  shared.Read(0, x);
  EXPECT_EQ(x, Numbers(kCount, kSteps));
}

}  // namespace
}  // namespace murmurate
