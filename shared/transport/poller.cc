#include <zmq.h>

#include <array>

#include "shared/core/check.h"
#include "shared/transport/doorbell.h"
#include "shared/transport/socket.h"
#include "shared/transport/socket_state.h"

namespace murmurate {

bool Poller::Wait(std::span<Socket* const> sockets, int timeout_ms) {
  std::array<zmq_pollitem_t, 64> items;
  int count = 0;
  if (signal_ != nullptr)
    items[count++] = {nullptr, static_cast<zmq_fd_t>(signal_->fd()), ZMQ_POLLIN, 0};
  const int bell = count;
  if (bell_ != nullptr)
    items[count++] = {nullptr, static_cast<zmq_fd_t>(bell_->fd()), ZMQ_POLLIN, 0};
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
