#include "server/page/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace murmurate {
namespace {

constexpr int kBacklog = 64;

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Result<AddressList> Resolve(const PageAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(address.host.c_str(), "0", &hints, &found); error != 0)
    return ResourceError("page.listen: " + address.host + " is no address of this host (" +
                         gai_strerror(error) + "); write 127.0.0.1");
  return AddressList(found, freeaddrinfo);
}

void SetPort(sockaddr* address, int port) {
  const in_port_t in_order = htons(static_cast<in_port_t>(port));
  if (address->sa_family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(address)->sin6_port = in_order;
  } else {
    reinterpret_cast<sockaddr_in*>(address)->sin_port = in_order;
  }
}

int PortOf(int fd) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

/// A socket that listens there, or -1: errno says why.
int ListenAt(const addrinfo& place) {
  const int fd = socket(place.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);  // a port of a process that has ended
  if (bind(fd, place.ai_addr, place.ai_addrlen) == 0 && listen(fd, kBacklog) == 0) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

}  // namespace

Result<Listener> Listener::Open(const PageAddress& address) {
  auto places = Resolve(address);
  if (!places.ok()) return places.status();
  const int last = address.port == 0 ? 0 : std::min(65535, address.port + kPorts - 1);
  for (int port = address.port; port <= last; ++port) {
    SetPort((*places)->ai_addr, port);
    if (const int fd = ListenAt(**places); fd >= 0) return Listener(fd, {address.host, PortOf(fd)});
    if (errno != EADDRINUSE)
      return ResourceError("page.listen: cannot listen on " + address.ToString() + " (" +
                           std::strerror(errno) + "); write 127.0.0.1 and a port above 1023");
  }
  return Status(StatusCode::kAlreadyRunning, "page.listen: the ports " +
                                                 std::to_string(address.port) + " to " +
                                                 std::to_string(last) + " of " + address.host +
                                                 " are taken; write another port, or \"off\"");
}

Listener::Listener(Listener&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), address_(std::move(other.address_)) {}

Listener::~Listener() {
  if (fd_ >= 0) close(fd_);
}

int Listener::Accept() const {
  const int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  const int on = 1;
  if (fd >= 0) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

}  // namespace murmurate
