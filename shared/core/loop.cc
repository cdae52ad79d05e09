#include "shared/core/loop.h"

#include "shared/core/check.h"
#include "shared/core/platform.h"

namespace murmurate {
Loop::Loop(std::string name, std::function<void()> poll_once, std::function<void()> wake)
    : wake_(std::move(wake)) {
  MURMURATE_CHECK(name.size() <= 15, "thread names have at most 15 characters");
  thread_ = StartThread(std::move(name), [this, poll_once = std::move(poll_once)] {
    while (!stopping_.load(std::memory_order_acquire)) poll_once();
  });
}

Loop::~Loop() {
  RequestStop();
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();  // a callback of ours called exit()
  } else {
    thread_.join();
  }
}

void Loop::RequestStop() {
  stopping_.store(true, std::memory_order_release);
  if (wake_) wake_();
}

}  // namespace murmurate
