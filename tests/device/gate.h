// Gate: threads wait until it opens at a number. It does not order what they do to memory: what
// ThreadSanitizer sees is as if they did not know of each other.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

namespace murmurate {

class Gate {
 public:
  std::uint32_t number() const { return number_.load(std::memory_order_relaxed); }

  void Open(std::uint32_t number) {
    Order();
    number_.store(number, std::memory_order_relaxed);
    syscall(SYS_futex, &number_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
  }

  /// Waits while the number is `closed`.
  void Pass(std::uint32_t closed) {
    while (number() == closed)
      syscall(SYS_futex, &number_, FUTEX_WAIT_PRIVATE, closed, nullptr, nullptr, 0);
    Order();
  }

  /// Keeps what comes before it before what comes after it, without ThreadSanitizer's knowing.
  static void Order() {
#ifdef __SANITIZE_THREAD__
    std::atomic_signal_fence(std::memory_order_seq_cst);
#else
    std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
  }

 private:
  std::atomic<std::uint32_t> number_ = 0;
};

}  // namespace murmurate
