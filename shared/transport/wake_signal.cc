#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "shared/transport/socket.h"

namespace murmurate {

WakeSignal::WakeSignal() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (fd_ >= 0) return;
  throw std::system_error(errno, std::generic_category(),
                          "no eventfd: raise the limit of open files (ulimit -n)");
}

WakeSignal::~WakeSignal() { close(fd_); }

void WakeSignal::Set() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(fd_, &one, sizeof(one));  // full: already set
}

void WakeSignal::Clear() const {
  std::uint64_t count;
  [[maybe_unused]] const ssize_t got = read(fd_, &count, sizeof(count));  // empty: already clear
}

}  // namespace murmurate
