// Mailbox: what other threads have for mmr-operate, in the order in which it came.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

#include "shared/transport/socket.h"

namespace murmurate {

class Mailbox {
 public:
  using Letter = std::function<void()>;  ///< run on the operating thread

  /// Posts a letter and returns at once; any thread.
  void Post(Letter letter);
  /// Posts `numbers` of little worth: they wake the thread only when there are many and are shown
  /// with what comes next, and while far too many wait they are dropped.
  void PostMinor(Letter letter, std::size_t numbers);

  std::vector<Letter> Empty();           ///< the operating thread
  WakeSignal* wake() { return &wake_; }  ///< to wait on
  void Wake() { wake_.Set(); }           ///< any thread

 private:
  WakeSignal wake_;
  std::mutex mutex_;
  std::vector<Letter> letters_;
  std::size_t minor_ = 0;  ///< numbers of little worth among them
};

}  // namespace murmurate
