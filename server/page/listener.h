// Listener: a TCP socket that listens, at the port asked for or the next free one.
#pragma once

#include "murmurate/status.h"
#include "server/page/page_settings.h"

namespace murmurate {

class Listener {
 public:
  static constexpr int kPorts = 32;  ///< how many are tried, one after the other

  /// kAlreadyRunning when none of the ports is free, kResource for an address that is not this
  /// host's.
  static Result<Listener> Open(const PageAddress& address);
  Listener(Listener&& other) noexcept;
  Listener& operator=(Listener&&) = delete;
  ~Listener();

  int fd() const { return fd_; }                           ///< never blocks
  const PageAddress& address() const { return address_; }  ///< with the port that it got
  /// Accepts one connection: its descriptor, which never blocks and sends at once, or -1 and errno,
  /// EAGAIN when none waits.
  int Accept() const;

 private:
  Listener(int fd, PageAddress address) : fd_(fd), address_(std::move(address)) {}
  int fd_;
  PageAddress address_;
};

}  // namespace murmurate
