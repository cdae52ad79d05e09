// ReplyQueue: answers to peers through a ROUTER, never waiting for any of them.
//
// A peer whose queue is full has one pending reply. Totals never fall, so a newer ACCEPTED makes
// an older one needless, and PONG and COMMITTED are not worth keeping. Anything more: the peer
// does not read, and is given up; it greets again when it lives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "server/session/server_session.h"
#include "shared/transport/socket.h"

namespace murmurate {

class ReplyQueue {
 public:
  /// `sender`: what the headers carry, the incarnation. The socket must outlive the queue.
  ReplyQueue(Socket* socket, std::uint64_t sender) : socket_(socket), sender_(sender) {}

  struct Unreached {
    std::vector<std::string> gone;   ///< whose connection is
    std::vector<std::string> stuck;  ///< that do not read
  };
  /// Sends in order, pending replies first.
  Unreached Send(std::vector<wire::ServerSession::Reply> replies);

  std::size_t pending() const { return slots_.size(); }

 private:
  using Reply = wire::ServerSession::Reply;

  SendOutcome TrySend(const Reply& reply);
  void RetrySlots(std::vector<std::string>* unreachable);
  /// False: the peer's pending reply must stay, so this one has no place.
  bool Park(Reply reply);

  Socket* socket_;
  std::uint64_t sender_;
  std::map<std::string, Reply> slots_;
};

}  // namespace murmurate
