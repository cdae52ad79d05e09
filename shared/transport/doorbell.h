// Doorbell: one process of this host wakes a thread of another that sleeps in a Poller, in one
// system call and with no thread between. A ring says nothing but "look": what there is to see lies
// in shared memory.
//
// A datagram socket in the abstract namespace: nothing is left behind by whoever dies. Anybody of
// the host can ring, which costs a look. Who rings without end makes a thread look all the time,
// but does not hold it.
#pragma once

#include <cstdint>
#include <memory>

#include "murmurate/status.h"

namespace murmurate {

class Doorbell {
 public:
  /// `number`: whatever nobody else has, as RandomIdentity gives it. One thread waits for it.
  static Result<std::unique_ptr<Doorbell>> Open(std::uint64_t number);
  ~Doorbell();
  Doorbell(const Doorbell&) = delete;
  Doorbell& operator=(const Doorbell&) = delete;

  void Clear() const;
  int fd() const { return fd_; }

 private:
  explicit Doorbell(int fd) : fd_(fd) {}
  const int fd_;
};

class DoorbellButton {
 public:
  /// kUnavailable: nobody here has a bell of this number.
  static Result<std::unique_ptr<DoorbellButton>> Open(std::uint64_t number);
  ~DoorbellButton();
  DoorbellButton(const DoorbellButton&) = delete;
  DoorbellButton& operator=(const DoorbellButton&) = delete;

  /// Waits for nothing. A bell that rings already, or whose owner is dead, takes no notice.
  void Ring() const;

 private:
  explicit DoorbellButton(int fd) : fd_(fd) {}
  const int fd_;
};

}  // namespace murmurate
