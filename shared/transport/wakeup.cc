#include "shared/transport/wakeup.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <string>

namespace murmurate {
namespace {

constexpr int kMostRings = 64;  ///< heard at once: senders may ring without end

int NewSocket() { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

struct Address {
  explicit Address(std::uint64_t number) {
    const std::string name = "murmurate-bell-" + std::to_string(number);
    socket.sun_family = AF_UNIX;
    memcpy(socket.sun_path + 1, name.data(), name.size());  // behind a zero: no file
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&socket); }

  sockaddr_un socket{};
  socklen_t bytes = 0;
};

Status NoSocket() {
  return ResourceError(std::string("cannot open a socket: ") + strerror(errno) +
                       "; raise the limit of open files (ulimit -n)");
}

}  // namespace

Result<std::unique_ptr<WakeupReceiver>> WakeupReceiver::Open(std::uint64_t number) {
  const int fd = NewSocket();
  if (fd < 0) return NoSocket();
  std::unique_ptr<WakeupReceiver> wakeup(new WakeupReceiver(fd));
  const Address address(number);
  if (bind(fd, address.get(), address.bytes) == 0) return wakeup;
  return ResourceError("cannot listen for bell " + std::to_string(number) + ": " + strerror(errno));
}

WakeupReceiver::~WakeupReceiver() { close(fd_); }

void WakeupReceiver::Clear() const {
  char ignored;
  for (int i = 0; i < kMostRings && recv(fd_, &ignored, 1, 0) >= 0;) ++i;
}

Result<std::unique_ptr<WakeupSender>> WakeupSender::Open(std::uint64_t number) {
  const int fd = NewSocket();
  if (fd < 0) return NoSocket();
  std::unique_ptr<WakeupSender> button(new WakeupSender(fd));
  const Address address(number);
  if (connect(fd, address.get(), address.bytes) == 0) return button;
  return Status(StatusCode::kUnavailable,
                "bell " + std::to_string(number) + ": " + strerror(errno));
}

WakeupSender::~WakeupSender() { close(fd_); }

void WakeupSender::Notify() const { (void)send(fd_, "", 1, MSG_NOSIGNAL); }

}  // namespace murmurate
