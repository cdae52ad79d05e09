// HostCopies: memory of the host that copies which were enqueued, and are not done yet, read or write.
// Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <set>
#include <utility>

namespace murmurate {

class HostCopies {
 public:
  void Begin(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    pending_.insert(Range(memory, bytes));
  }
  void End(const void* memory, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    pending_.erase(pending_.find(Range(memory, bytes)));
  }
  /// None is done any more.
  void Forget() {
    const std::lock_guard lock(mutex_);
    pending_.clear();
  }
  /// Whether one touches the memory.
  bool Touch(const void* memory, std::size_t bytes) const {
    const std::lock_guard lock(mutex_);
    const Ends ends = Range(memory, bytes);
    for (const auto& [begin, end] : pending_)
      if (std::less<>()(begin, ends.second) && std::less<>()(ends.first, end)) return true;
    return false;
  }

 private:
  using Ends = std::pair<const std::byte*, const std::byte*>;
  static Ends Range(const void* memory, std::size_t bytes) {
    const auto* const begin = static_cast<const std::byte*>(memory);
    return {begin, begin + bytes};
  }

  mutable std::mutex mutex_;
  std::multiset<Ends> pending_;
};

}  // namespace murmurate
