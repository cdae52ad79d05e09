// SampleSocket: the ROUTER of a SampleServer: messages of peers come in, answers go out, whole or
// not at all. One thread calls everything but Wake; only Wait waits.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "murmurate/status.h"
#include "shared/transport/socket.h"
#include "shared/wire/messages.h"

namespace murmurate {

class SampleSocket {
 public:
  /// Listens when it returns.
  static Result<std::unique_ptr<SampleSocket>> Open(const std::string& address);

  /// The bound address, with the chosen port.
  std::string address() const { return socket_.BoundAddress(); }
  /// Waits until a message comes, or Wake.
  void Wait(int timeout_ms);
  void Wake() const { wake_.Set(); }  ///< any thread
  int fd() const { return socket_.fd(); }
  bool Readable() const { return socket_.Readable(); }
  bool TryReceive(Message* message) { return socket_.TryReceive(message); }
  /// `number`: of the sample that it answers; 0: none.
  SendOutcome Send(const PeerId& peer, const wire::Body& body, std::uint64_t number);
  /// The sender of what goes out; another one in each life.
  std::uint64_t incarnation() const { return incarnation_; }

 private:
  SampleSocket(std::unique_ptr<SocketContext> context, Socket socket);

  const std::uint64_t incarnation_;
  std::unique_ptr<SocketContext> context_;
  Socket socket_;
  WakeSignal wake_;
};

}  // namespace murmurate
