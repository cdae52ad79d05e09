// The members of a Socket; private to this room.
#pragma once

#include <string>
#include <vector>
#include <zmq.hpp>

#include "shared/transport/socket.h"
#include "shared/transport/unix_listener.h"

namespace murmurate {

struct Socket::State {
  zmq::socket_t socket;
  const SocketKind kind;
  std::string bound_address = {};
  /// The last member, so the first to be destroyed: no new client finds the file of a socket that
  /// is being closed.
  std::vector<UnixListener> listeners = {};
};

}  // namespace murmurate
