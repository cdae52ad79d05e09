// RawConnection: bytes to and from a port of this host, as no client library would send them.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

namespace murmurate {

class RawConnection {
 public:
  explicit RawConnection(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<in_port_t>(port));
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~RawConnection() { close(fd_); }
  RawConnection(const RawConnection&) = delete;

  bool connected() const { return connected_; }
  bool Send(const std::string& bytes) const {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  void EndSending() const { shutdown(fd_, SHUT_WR); }
  void SetReceiveBuffer(int bytes) const {
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  }
  /// All bytes until the other end closes, or `seconds` pass without any.
  std::string ReceiveAll(double seconds) const {
    std::string all;
    char bytes[4096];
    pollfd place{fd_, POLLIN, 0};
    while (poll(&place, 1, static_cast<int>(seconds * 1000)) > 0) {
      const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
      if (count <= 0) break;
      all.append(bytes, static_cast<std::size_t>(count));
    }
    return all;
  }
  /// The bytes until they hold `wanted`, the other end closes, or `seconds` pass without any.
  std::string ReceiveUntil(const std::string& wanted, double seconds) const {
    std::string all;
    char bytes[4096];
    pollfd place{fd_, POLLIN, 0};
    while (all.find(wanted) == std::string::npos &&
           poll(&place, 1, static_cast<int>(seconds * 1000)) > 0) {
      const ssize_t count = recv(fd_, bytes, sizeof bytes, 0);
      if (count <= 0) break;
      all.append(bytes, static_cast<std::size_t>(count));
    }
    return all;
  }
  /// Whether the other end has closed within `seconds`.
  bool Closed(double seconds) const {
    char byte;
    pollfd place{fd_, POLLIN, 0};
    while (poll(&place, 1, static_cast<int>(seconds * 1000)) > 0)
      if (recv(fd_, &byte, 1, 0) <= 0) return true;
    return false;
  }

 private:
  const int fd_;
  bool connected_ = false;
};

}  // namespace murmurate
