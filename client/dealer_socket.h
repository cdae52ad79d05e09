// DealerSocket: a client's socket to one address that speaks the protocol: messages go out encoded
// and come in decoded. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shared/transport/socket.h"
#include "shared/wire/messages.h"

namespace murmurate {

class DealerSocket {
 public:
  /// `sender`: what every header says. It is closed until Open.
  DealerSocket(SocketContext& context, std::string address, std::uint64_t sender,
               SocketOptions options)
      : context_(context), address_(std::move(address)), sender_(sender), options_(options) {}

  /// (Re)opens it: what waits in the old one is never heard. The status: the address, or no socket.
  Status Open();
  void Close() { socket_.reset(); }
  bool is_open() const { return socket_.has_value(); }
  /// Null while it is closed.
  Socket* get() { return socket_.has_value() ? &*socket_ : nullptr; }
  /// False while it is closed, and when no peer takes the message.
  bool Send(const wire::Body& body, std::uint64_t number = 0);
  /// The next message that waits, if there is one.
  std::optional<std::variant<wire::Decoded, wire::DecodeFailure>> Receive();

 private:
  SocketContext& context_;
  const std::string address_;
  const std::uint64_t sender_;
  const SocketOptions options_;
  std::optional<Socket> socket_;
  Message message_;
  std::vector<std::span<const std::byte>> frames_;
};

}  // namespace murmurate
