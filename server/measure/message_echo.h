// MessageEcho: a message of 4 KiB to another thread and back: over ZeroMQ's DEALER and ROUTER as
// actors and learners have them (ipc), and over a bare Unix socket.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "shared/core/loop.h"
#include "shared/transport/socket.h"

namespace murmurate {

class MessageEcho {
 public:
  /// A status where no socket can be had.
  static Result<std::unique_ptr<MessageEcho>> Make();
  ~MessageEcho();

  void Exchange();       ///< over ZeroMQ
  void PlainExchange();  ///< over the Unix socket

 private:
  static constexpr std::size_t kBytes = 4096;
  struct Sockets;
  explicit MessageEcho(std::unique_ptr<Sockets> sockets);
  void EchoOnce();

  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
  const std::unique_ptr<Sockets> sockets_;
  std::unique_ptr<Loop> echo_;
  std::thread plain_echo_;
};

}  // namespace murmurate
