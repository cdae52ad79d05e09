#include "server/operate/snapshot_board.h"

#include <chrono>
#include <limits>
#include <utility>

namespace murmurate {

std::shared_ptr<const RunSnapshot> SnapshotBoard::Await(std::int64_t not_before_ns,
                                                        int timeout_ms) {
  const auto there = [&] { return latest_ && latest_->at_ns >= not_before_ns; };
  std::unique_lock lock(mutex_);
  if (closed_) return nullptr;
  if (there()) return latest_;
  const bool first = !std::exchange(asked_, true);
  lock.unlock();
  if (first) wake_();
  lock.lock();
  published_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                      [&] { return closed_ || there(); });
  return !closed_ && there() ? latest_ : nullptr;
}

void SnapshotBoard::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  published_.notify_all();
}

std::int64_t SnapshotBoard::due_ns() const {
  const std::lock_guard lock(mutex_);
  if (!asked_ || closed_) return std::numeric_limits<std::int64_t>::max();
  return latest_ ? latest_->at_ns + kIntervalNs : 0;
}

void SnapshotBoard::Publish(std::shared_ptr<const RunSnapshot> snapshot) {
  const std::lock_guard lock(mutex_);
  latest_ = std::move(snapshot);
  asked_ = false;
  published_.notify_all();
}

}  // namespace murmurate
