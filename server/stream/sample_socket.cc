#include "server/stream/sample_socket.h"

#include <utility>

#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr int kLingerMs = 200;
constexpr int kHighWaterMark = 1024;  ///< a backstop: credit bounds what waits

}  // namespace

Result<std::unique_ptr<SampleSocket>> SampleSocket::Open(const std::string& address) {
  auto context = std::make_unique<SocketContext>();
  SocketOptions options;
  options.max_message_bytes = wire::kMaxGreetingBytes + wire::kHeaderBytes;
  options.high_water_mark = kHighWaterMark;
  options.linger_ms = kLingerMs;
  auto socket = Socket::Open(*context, SocketKind::kRouter, options);
  if (!socket.ok()) return socket.status();
  if (Status status = socket->Bind(address); !status.ok()) {
    if (status.code() != StatusCode::kAlreadyRunning) return status;
    return Status(status.code(), "another program listens on " + address +
                                     "; stop it, or choose another address with listen");
  }
  return std::unique_ptr<SampleSocket>(new SampleSocket(std::move(context), *std::move(socket)));
}

SampleSocket::SampleSocket(std::unique_ptr<SocketContext> context, Socket socket)
    : incarnation_(RandomIdentity()), context_(std::move(context)), socket_(std::move(socket)) {}

void SampleSocket::Wait(int timeout_ms) {
  Socket* const sockets[] = {&socket_};
  (void)Poller(&wake_).Wait(sockets, timeout_ms);
}

SendOutcome SampleSocket::Send(const PeerId& peer, const wire::Body& body, std::uint64_t number) {
  const wire::Encoded encoded = wire::Encode(body, incarnation_, number);
  Message message;
  message.peer = peer;
  message.frames.emplace_back(encoded.header);
  message.frames.emplace_back(encoded.metadata);
  return socket_.TrySend(message);
}

}  // namespace murmurate
