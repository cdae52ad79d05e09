#include <array>
#include <chrono>

#include "shared/core/check.h"
#include "shared/transport/socket.h"
#include "shared/transport/socket_state.h"
#include "shared/transport/wakeup.h"

namespace murmurate {

bool Poller::Wait(std::span<Socket* const> sockets, int timeout_ms) {
  std::array<zmq::pollitem_t, 64> items;
  std::size_t count = 0;
  if (signal_ != nullptr)
    items[count++] = {nullptr, static_cast<zmq::fd_t>(signal_->fd()), ZMQ_POLLIN, 0};
  const std::size_t wakeup = count;
  if (wakeup_ != nullptr)
    items[count++] = {nullptr, static_cast<zmq::fd_t>(wakeup_->fd()), ZMQ_POLLIN, 0};
  for (Socket* socket : sockets) {
    if (socket == nullptr) continue;
    MURMURATE_CHECK(count < items.size(), "a Poller takes at most 62 sockets");
    items[count++] = {socket->state_->socket.handle(), 0, ZMQ_POLLIN, 0};
  }
  try {
    if (zmq::poll(items.data(), count, std::chrono::milliseconds(timeout_ms)) == 0) return false;
  } catch (const zmq::error_t&) {
    return false;  // interrupted by a signal
  }
  if (signal_ != nullptr && (items[0].revents & ZMQ_POLLIN) != 0) signal_->Clear();
  if (wakeup_ != nullptr && (items[wakeup].revents & ZMQ_POLLIN) != 0) wakeup_->Clear();
  return true;
}

}  // namespace murmurate
