#include "client/dealer_socket.h"

#include <utility>

#include "shared/core/check.h"

namespace murmurate {

Status DealerSocket::Open() {
  Close();
  auto opened = Socket::Open(context_, SocketKind::kDealer, options_);
  if (!opened.ok()) return opened.status();
  MURMURATE_RETURN_IF_ERROR(opened->Connect(address_));
  socket_ = *std::move(opened);
  return {};
}

bool DealerSocket::Send(const wire::Body& body, std::uint64_t number) {
  if (!socket_) return false;
  const wire::Encoded encoded = wire::Encode(body, sender_, number);
  Message message;
  message.frames.emplace_back(encoded.header);
  message.frames.emplace_back(encoded.metadata);
  return socket_->TrySend(message) == SendOutcome::kSent;
}

std::optional<std::variant<wire::Decoded, wire::DecodeFailure>> DealerSocket::Receive() {
  if (!socket_ || !socket_->TryReceive(&message_)) return std::nullopt;
  frames_.clear();
  for (const Frame& frame : message_.frames) frames_.push_back(frame.bytes());
  return wire::Decode(frames_);
}

}  // namespace murmurate
