#include "server/ingest/reply_queue.h"

#include <algorithm>
#include <utility>

namespace murmurate {
namespace {

bool IsAccepted(const wire::ServerSession::Reply& reply) {
  return std::holds_alternative<wire::Accepted>(reply.body);
}

/// Whether a reply is sent again soon, or when there is a newer one.
bool IsFleeting(const wire::ServerSession::Reply& reply) {
  return std::holds_alternative<wire::Pong>(reply.body) ||
         std::holds_alternative<wire::Committed>(reply.body);
}

}  // namespace

SendOutcome ReplyQueue::TrySend(const Reply& reply) {
  const wire::Encoded encoded = wire::Encode(reply.body, sender_, reply.sequence);
  Message message;
  message.peer = reply.peer;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  return socket_->TrySend(message);
}

bool ReplyQueue::Park(Reply reply) {
  const auto slot = slots_.find(reply.peer);
  if (slot == slots_.end()) {
    std::string peer = reply.peer;
    slots_.emplace(std::move(peer), std::move(reply));
    return true;
  }
  if (IsFleeting(reply)) return true;
  if (!(IsAccepted(reply) && IsAccepted(slot->second)) && !IsFleeting(slot->second)) return false;
  slot->second = std::move(reply);
  return true;
}

void ReplyQueue::RetrySlots(std::vector<std::string>* unreachable) {
  for (auto slot = slots_.begin(); slot != slots_.end();) {
    const SendOutcome outcome = TrySend(slot->second);
    if (outcome == SendOutcome::kNoPeer) unreachable->push_back(slot->first);
    slot = outcome == SendOutcome::kWouldBlock ? std::next(slot) : slots_.erase(slot);
  }
}

ReplyQueue::Unreached ReplyQueue::Send(std::vector<Reply> replies) {
  Unreached unreached;
  RetrySlots(&unreached.gone);
  const auto has = [](const std::vector<std::string>& peers, const std::string& peer) {
    return std::ranges::find(peers, peer) != peers.end();
  };
  for (Reply& reply : replies) {
    if (has(unreached.gone, reply.peer) || has(unreached.stuck, reply.peer)) continue;
    SendOutcome outcome = SendOutcome::kWouldBlock;
    if (!slots_.contains(reply.peer)) outcome = TrySend(reply);
    if (outcome == SendOutcome::kSent) continue;
    std::string peer = reply.peer;
    if (outcome == SendOutcome::kWouldBlock && Park(std::move(reply))) continue;
    slots_.erase(peer);
    (outcome == SendOutcome::kNoPeer ? unreached.gone : unreached.stuck).push_back(std::move(peer));
  }
  return unreached;
}

}  // namespace murmurate
