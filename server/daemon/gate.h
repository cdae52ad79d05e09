// Gate: lets a thread that may have to be left behind into what will be gone by then, until it is
// shut.
#pragma once

#include <mutex>

namespace murmurate {

class Gate {
 public:
  /// The thread that may be left: runs `visit` unless the gate is shut.
  template <typename Visit>
  void Pass(Visit visit) {
    std::lock_guard lock(mutex_);
    // guard: Gate.ShutItLetsNobodyInAndNobodyIsInside: a learning thread that is left behind does
    //   not call what is taken down
    if (!shut_) visit();
  }
  /// Shuts the gate: on return no thread is inside, and none will enter.
  void Shut() {
    // guard: Gate.ShutItLetsNobodyInAndNobodyIsInside: Shut waits until no thread is inside
    std::lock_guard lock(mutex_);
    shut_ = true;
  }
  /// Whether it is shut; only for the thread that shuts it.
  bool shut() const { return shut_; }

 private:
  std::mutex mutex_;
  bool shut_ = false;
};

}  // namespace murmurate
