#include "shared/core/loop.h"

#include <pthread.h>
#include <signal.h>

#include "shared/core/check.h"

namespace murmurate {

Loop::Loop(std::string name, std::function<void()> poll_once, std::function<void()> wake)
    : wake_(std::move(wake)) {
  MURMURATE_CHECK(name.size() <= 15, "thread names have at most 15 characters");
  // The new thread inherits the mask: blocked before it exists, no signal ever lands in it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this, name = std::move(name), poll_once = std::move(poll_once)] {
    pthread_setname_np(pthread_self(), name.c_str());
    while (!stopping_.load(std::memory_order_acquire)) poll_once();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Loop::~Loop() {
  RequestStop();
  thread_.join();
}

void Loop::RequestStop() {
  stopping_.store(true, std::memory_order_release);
  if (wake_) wake_();
}

}  // namespace murmurate
