#include "server/parameters/heartbeat.h"

#include <utility>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/wire/messages.h"

namespace murmurate {
namespace {

constexpr std::int64_t kWaitsAfterNs = 2'000'000'000;
constexpr int kAliveEveryMs = 500;

}  // namespace

Status Heartbeat::AddShard(SocketContext& context, const std::string& address) {
  auto socket = Socket::Open(context, SocketKind::kDealer);
  if (!socket.ok()) return socket.status();
  MURMURATE_RETURN_IF_ERROR(socket->Connect(address));
  sockets_.push_back(std::move(*socket));
  return {};
}

void Heartbeat::Start() {
  loop_ = std::make_unique<Loop>(
      "mmr-alive", [this] { Tell(); }, [this] { wake_.Set(); });
}

void Heartbeat::Tell() {
  Poller poller(&wake_);
  (void)poller.Wait({}, kAliveEveryMs);
  const std::int64_t since_ns = waiting_since_ns_.load();
  const bool waiting = since_ns != 0 && MonotonicNs() - since_ns > kWaitsAfterNs;
  const wire::Encoded encoded = wire::Encode(wire::Alive{waiting}, sender_, 0);
  for (Socket& socket : sockets_) {
    Message ignored;
    while (socket.TryReceive(&ignored)) continue;
    Message message;
    message.frames.emplace_back(std::span<const std::byte>(encoded.header));
    message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
    (void)socket.TrySend(message);
  }
}

void Heartbeat::BeginWait() { waiting_since_ns_ = MonotonicNs(); }

void Heartbeat::EndWait() {
  const std::int64_t since_ns = waiting_since_ns_.exchange(0);
  if (since_ns != 0 && MonotonicNs() - since_ns > kWaitsAfterNs) waited_long_ = true;
}

bool Heartbeat::PopLongWait() { return std::exchange(waited_long_, false); }

}  // namespace murmurate
