// What a service manager is to a daemon: a socket that hears it, and its environment.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace murmurate {

/// The manager's end of NOTIFY_SOCKET. `name`: a path, or '@' and an abstract name.
class NotifySocket {
 public:
  explicit NotifySocket(std::string name)
      : name_(std::move(name)), fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name_.data(), name_.size());
    if (name_[0] == '@') address.sun_path[0] = '\0';
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    good_ = bind(fd_, reinterpret_cast<sockaddr*>(&address), length) == 0;
  }
  ~NotifySocket() { close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;

  bool good() const { return good_; }
  const std::string& name() const { return name_; }

  /// The next datagram that comes within `ms`, or "".
  std::string Next(int ms) const {
    pollfd waits{fd_, POLLIN, 0};
    if (poll(&waits, 1, ms) != 1) return "";
    char text[4096];
    const ssize_t count = recv(fd_, text, sizeof text, 0);
    return std::string(text, count > 0 ? static_cast<std::size_t>(count) : 0);
  }
  /// Whether a datagram with `line` comes within `ms`; others before it are dropped.
  bool Hears(const std::string& line, int ms) const {
    for (int rest = ms; rest > 0; rest -= 20) {
      for (std::string text = Next(20); !text.empty(); text = Next(0))
        if (("\n" + text + "\n").find("\n" + line) != std::string::npos) return true;
    }
    return false;
  }
  /// Drops what has come.
  void Empty() const {
    while (!Next(0).empty()) continue;
  }

 private:
  const std::string name_;
  const int fd_;
  bool good_ = false;
};

}  // namespace murmurate
