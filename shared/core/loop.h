// Loop: one named thread that repeats one bounded step until it is destroyed.
//
// Every class with a duty of its own has PollOnce(), which does a bounded piece of work and
// returns; only Loop repeats it, so that a test calls PollOnce() with no thread at all. The thread
// blocks all signals (it may live inside a host program) and carries the name in /proc and
// debuggers.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace murmurate {

class Loop {
 public:
  /// Starts the thread. `name` has at most 15 characters. `poll_once` may wait, but must return
  /// soon after `wake` is called (from any thread); `wake` may be empty if poll_once never waits
  /// long. Throws std::system_error when the system has no thread to give.
  Loop(std::string name, std::function<void()> poll_once, std::function<void()> wake = {});

  /// Stops and joins.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Asks for the end without waiting for it: poll_once is not called again after it returns.
  void RequestStop();

 private:
  std::atomic<bool> stopping_{false};
  std::function<void()> wake_;
  std::thread thread_;
};

}  // namespace murmurate
