// ServiceNotice: what a service manager is told: that the daemon is ready, how it is, that it lives,
// that it stops. The protocol is that of sd_notify(3): datagrams of NAME=VALUE lines to the socket
// that NOTIFY_SOCKET names, a path or (with '@' first) an abstract one. Without it nothing is sent.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <cstdint>
#include <optional>
#include <string>

namespace murmurate {

class ServiceNotice {
 public:
  /// As the environment says: NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, which no child inherits
  /// (StartProgram).
  ServiceNotice();
  ~ServiceNotice();
  ServiceNotice(const ServiceNotice&) = delete;
  ServiceNotice& operator=(const ServiceNotice&) = delete;

  /// Sends "READY=1" or several such lines; never waits. What the manager does not take is lost.
  void Send(const std::string& lines) const;
  bool connected() const { return fd_ >= 0; }
  /// After so many ns without "WATCHDOG=1" the manager ends the process; empty: it does not watch.
  std::optional<std::int64_t> watchdog_ns() const { return watchdog_ns_; }

 private:
  int fd_ = -1;
  sockaddr_un address_{};
  socklen_t length_ = 0;
  std::optional<std::int64_t> watchdog_ns_;
};

}  // namespace murmurate
