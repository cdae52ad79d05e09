// What a Socket is made of; the room's own business.
#pragma once

#include <string>
#include <vector>

#include "shared/transport/socket.h"
#include "shared/transport/unix_listener.h"

namespace murmurate {

struct Socket::State {
  State(void* socket, SocketKind socket_kind) : handle(socket), kind(socket_kind) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void* const handle;
  const SocketKind kind;
  std::string bound_address;
  std::vector<UnixListener> listeners;
};

}  // namespace murmurate
