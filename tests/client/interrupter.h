// Interrupter: stops a thread for a moment again and again, wherever it is: between any two of its
// instructions. What two cores do to each other once in a million times then happens all the time,
// on one core too.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <thread>
#include <vector>

#include "shared/core/random.h"

namespace murmurate {

class Interrupter {
 public:
  /// `thread` must outlive this object.
  explicit Interrupter(pthread_t thread) : thread_(thread) {
    struct sigaction action {};
    action.sa_handler = [](int) { Doze(30'000); };
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, nullptr);
    interrupting_ = std::thread([this] {
      Random random(1);
      while (!over_.load()) {
        pthread_kill(thread_, SIGUSR1);
        Doze(20'000 + static_cast<long>(random.UniformInt(60'000)));
      }
    });
  }
  ~Interrupter() {
    over_.store(true);
    interrupting_.join();
  }

 private:
  static void Doze(long ns) {
    const timespec duration{0, ns};
    nanosleep(&duration, nullptr);
  }

  const pthread_t thread_;
  std::atomic<bool> over_{false};
  std::thread interrupting_;
};

/// Stores to cold memory, which keep the next store from being seen for a while: what a missing
/// barrier between a store and a load needs to show.
class SlowStores {
 public:
  void Begin() {
    for (int i = 0; i < 24; ++i) {
      place_ = (place_ + 0x9e3779b1u) % kWords;
      memory_[place_] = place_;
    }
  }

 private:
  static constexpr std::uint32_t kWords = 16u << 20;
  std::vector<std::uint32_t> memory_ = std::vector<std::uint32_t>(kWords);
  std::uint32_t place_ = 0;
};

}  // namespace murmurate
