#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <array>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/transport/shared_segment.h"

namespace murmurate {
namespace {

// Linux 5.16; spelled out for the headers of older kernels.
constexpr long kFutexWaitvCall = 449;
constexpr std::uint32_t kFutex32 = 2;
constexpr std::size_t kMaxWaits = 128;
struct Waiter {
  std::uint64_t value;
  std::uint64_t address;
  std::uint32_t flags;  // not FUTEX_PRIVATE_FLAG: the word may lie in another process's segment
  std::uint32_t reserved;
};

timespec ToTimespec(std::int64_t ns) {
  return {static_cast<time_t>(ns / kNanosecondsPerSecond), ns % kNanosecondsPerSecond};
}

bool AnyChanged(std::span<const FutexWait> waits) {
  for (const FutexWait& wait : waits) {
    if (wait.word->load(std::memory_order_acquire) != wait.seen) return true;
  }
  return false;
}

void WaitForFirst(const FutexWait& wait, std::int64_t ns) {
  const timespec relative = ToTimespec(ns);
  syscall(SYS_futex, wait.word, FUTEX_WAIT, wait.seen, &relative, nullptr, 0);
}

/// False when the kernel has no futex_waitv.
bool WaitForVector(std::span<const FutexWait> waits, std::int64_t deadline_ns) {
  std::array<Waiter, kMaxWaits> waiters;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    waiters[i] = {waits[i].seen, reinterpret_cast<std::uint64_t>(waits[i].word), kFutex32, 0};
  }
  const timespec deadline = ToTimespec(deadline_ns);
  const long rc =
      syscall(kFutexWaitvCall, waiters.data(), waits.size(), 0, &deadline, CLOCK_MONOTONIC);
  return rc >= 0 || (errno != ENOSYS && errno != EPERM);
}

}  // namespace

void WaitForAny(std::span<const FutexWait> waits, int timeout_ms) {
  MURMURATE_CHECK(!waits.empty() && waits.size() <= kMaxWaits, "1 to 128 futex words");
  static std::atomic<bool> has_waitv{true};
  const std::int64_t deadline = MonotonicNs() + timeout_ms * kNanosecondsPerMillisecond;
  if (waits.size() > 1 && has_waitv.load(std::memory_order_relaxed)) {
    if (WaitForVector(waits, deadline)) return;
    has_waitv.store(false, std::memory_order_relaxed);
  }
  while (!AnyChanged(waits)) {
    const std::int64_t left = deadline - MonotonicNs();
    if (left <= 0) return;
    if (waits.size() == 1) return WaitForFirst(waits[0], left);
    WaitForFirst(waits[0], std::min(left, kNanosecondsPerMillisecond));
  }
}

void WakeAll(FutexWord* word) {
  syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace murmurate
