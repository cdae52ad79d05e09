// WakeupReceiver: one process of this host wakes a thread of another that sleeps in a Poller, in
// one system call and with no thread between. A wakeup says nothing but "look": what there is to
// see lies in shared memory.
//
// It is a datagram socket in the abstract namespace, so a process that dies leaves nothing behind.
// Any process of the host can ring; each ring costs the receiver one check of shared memory. A
// process that rings without end keeps the thread checking but does not block it.
#pragma once

#include <cstdint>
#include <memory>

#include "murmurate/status.h"

namespace murmurate {

class WakeupReceiver {
 public:
  /// `number`: unique on this host, as RandomIdentity gives it. One thread waits for it.
  static Result<std::unique_ptr<WakeupReceiver>> Open(std::uint64_t number);
  ~WakeupReceiver();
  WakeupReceiver(const WakeupReceiver&) = delete;
  WakeupReceiver& operator=(const WakeupReceiver&) = delete;

  void Clear() const;
  int fd() const { return fd_; }

 private:
  explicit WakeupReceiver(int fd) : fd_(fd) {}
  const int fd_;
};

class WakeupSender {
 public:
  /// kUnavailable: no process of this host has a wakeup of this number.
  static Result<std::unique_ptr<WakeupSender>> Open(std::uint64_t number);
  ~WakeupSender();
  WakeupSender(const WakeupSender&) = delete;
  WakeupSender& operator=(const WakeupSender&) = delete;

  /// Waits for nothing. A wakeup that rings already, or whose owner is dead, takes no notice.
  void Notify() const;

 private:
  explicit WakeupSender(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace murmurate
