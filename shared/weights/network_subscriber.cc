#include "shared/weights/network_subscriber.h"

#include <utility>

namespace murmurate {

bool NetworkSubscriber::TakeNewer(const VersionStamp& known, ReceivedWeights* into) {
  std::lock_guard lock(mutex_);
  if (!fresh_) {
    if (taken_ && known.version == 0) lost_.store(true, std::memory_order_relaxed);
    return false;
  }
  if (known == ready_.stamp) return false;
  std::swap(*into, ready_);
  fresh_ = false;
  taken_ = true;
  return true;
}

void NetworkSubscriber::Deliver(ReceivedWeights* whole) {
  {
    std::lock_guard lock(mutex_);
    std::swap(ready_, *whole);
    fresh_ = true;
  }
  Wake();
}

void NetworkSubscriber::Close() {
  closed_.store(true, std::memory_order_release);
  Wake();
}

void NetworkSubscriber::Wake() {
  word_.fetch_add(1, std::memory_order_release);
  WakeAll(&word_);
}

}  // namespace murmurate
