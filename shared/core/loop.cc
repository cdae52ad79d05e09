#include "shared/core/loop.h"

#include <pthread.h>
#include <signal.h>

#include "shared/core/check.h"

namespace murmurate {
namespace {

/// For the calling thread, while this lives; a thread it starts inherits that.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Loop::Loop(std::string name, std::function<void()> poll_once, std::function<void()> wake)
    : wake_(std::move(wake)) {
  MURMURATE_CHECK(name.size() <= 15, "thread names have at most 15 characters");
  const AllSignalsBlocked before_it_exists;  // so no signal ever lands in it
  thread_ = std::thread([this, name = std::move(name), poll_once = std::move(poll_once)] {
    pthread_setname_np(pthread_self(), name.c_str());
    while (!stopping_.load(std::memory_order_acquire)) poll_once();
  });
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
