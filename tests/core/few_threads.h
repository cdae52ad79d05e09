// FewThreads: while it lives, this process can start so many threads and no more: each gets a stack
// of a GiB, and there is address space for that many.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <fstream>

namespace murmurate {

class FewThreads {
 public:
  explicit FewThreads(int count) {
    pthread_getattr_default_np(&before_);
    pthread_attr_t large = before_;
    pthread_attr_setstacksize(&large, kStackBytes);
    pthread_setattr_default_np(&large);
    getrlimit(RLIMIT_AS, &room_);
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit little = room_;
    little.rlim_cur = pages * 4096 + count * kStackBytes + kStackBytes / 2;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &little), 0);
  }
  ~FewThreads() {
    setrlimit(RLIMIT_AS, &room_);
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }

 private:
  static constexpr std::size_t kStackBytes = std::size_t{1} << 30;
  pthread_attr_t before_;
  rlimit room_;
};

}  // namespace murmurate
