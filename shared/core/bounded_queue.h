// BoundedQueue: the hand-over between two threads that may block (never used on a game's thread).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>

namespace murmurate {

/// A first-in first-out queue of at most `capacity` items. Any thread may call any function.
/// After Close(), pushes fail and pops return what is left, then nothing.
template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(std::size_t capacity) : capacity_(capacity) {}

  /// False, and the item is untouched, when the queue is full or closed. Never waits for room.
  bool TryPush(T&& item) {
    {
      std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(item));
    }
    not_empty_.notify_one();
    return true;
  }

  std::optional<T> TryPop() { return Pop(std::chrono::milliseconds(0)); }

  /// Waits up to `timeout` for an item; nothing when there is none by then or the queue is closed.
  std::optional<T> Pop(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    not_empty_.wait_for(lock, timeout, [this] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

  /// Waits as Pop does, and takes nothing; true when there is something to pop.
  bool Wait(std::chrono::milliseconds timeout) {
    std::unique_lock lock(mutex_);
    not_empty_.wait_for(lock, timeout, [this] { return closed_ || !items_.empty(); });
    return !items_.empty();
  }

  /// Calls visit(item) with the item that is next to be popped, which stays; false when there is
  /// none. Others wait meanwhile.
  template <typename Visit>
  bool VisitFront(Visit visit) {
    std::lock_guard lock(mutex_);
    if (items_.empty()) return false;
    visit(items_.front());
    return true;
  }

  void Close() {
    {
      std::lock_guard lock(mutex_);
      closed_ = true;
    }
    not_empty_.notify_all();
  }

  std::size_t size() const {
    std::lock_guard lock(mutex_);
    return items_.size();
  }

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable not_empty_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace murmurate
