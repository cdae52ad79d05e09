#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

#include "shared/core/check.h"
#include "shared/transport/socket.h"

namespace murmurate {

WakeSignal::WakeSignal() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  MURMURATE_CHECK(fd_ >= 0, "no eventfd: raise the limit of open files (ulimit -n)");
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
