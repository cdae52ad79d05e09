#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <array>

#include "shared/core/check.h"
#include "shared/transport/doorbell.h"
#include "shared/transport/socket.h"
#include "shared/transport/socket_state.h"

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

bool Poller::Wait(std::span<Socket* const> sockets, int timeout_ms) {
  std::array<zmq_pollitem_t, 64> items;
  int count = 0;
  if (signal_ != nullptr) items[count++] = {nullptr, signal_->fd(), ZMQ_POLLIN, 0};
  const int bell = count;
  if (bell_ != nullptr) items[count++] = {nullptr, bell_->fd(), ZMQ_POLLIN, 0};
  for (Socket* socket : sockets) {
    if (socket == nullptr) continue;
    MURMURATE_CHECK(count < static_cast<int>(items.size()), "a Poller takes at most 62 sockets");
    items[count++] = {socket->state_->handle, 0, ZMQ_POLLIN, 0};
  }
  const int ready = zmq_poll(items.data(), count, timeout_ms);
  if (ready <= 0) return false;
  if (signal_ != nullptr && (items[0].revents & ZMQ_POLLIN) != 0) signal_->Clear();
  if (bell_ != nullptr && (items[bell].revents & ZMQ_POLLIN) != 0) bell_->Clear();
  return true;
}

}  // namespace murmurate
