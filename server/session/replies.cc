#include "server/session/replies.h"

#include <algorithm>
#include <utility>

namespace murmurate::wire {
namespace {

constexpr std::size_t kMostRefusedActors = 16;

/// Broken or lying messages; the others are a client's that does nothing wrong by itself.
bool IsReject(Refusal refusal) {
  return refusal == Refusal::kMalformed || refusal == Refusal::kUnknownType ||
         refusal == Refusal::kTooLarge || refusal == Refusal::kCredit ||
         refusal == Refusal::kSequence || refusal == Refusal::kMeaning ||
         refusal == Refusal::kNotFinite;
}

}  // namespace

bool Replies::Refuse(const std::string& peer, Refusal refusal, std::string sentence,
                     std::uint64_t sequence, std::int64_t now_ns) {
  Count(refusal);
  if (Muted(peer, now_ns)) return false;
  const bool mutes = IsReject(refusal) && rejects_.Note(peer, now_ns);
  if (mutes) sentence += "; too many such messages: this connection is ignored for 60 s";
  Send(peer, Error{refusal, std::move(sentence), sequence}, sequence);
  return mutes;
}

void Replies::SendHelloOk(const std::string& peer, HelloOk ok, std::uint64_t sequence) {
  // The last of them: a HELLO that was repeated has an answer of its own, which must not undo this.
  const auto waiting = std::find_if(replies_.rbegin(), replies_.rend(), [&](const Reply& reply) {
    return reply.peer == peer && std::holds_alternative<HelloOk>(reply.body);
  });
  if (waiting == replies_.rend()) return Send(peer, std::move(ok), sequence);
  waiting->body = std::move(ok);
}

void Replies::RefuseUnknownPeer(const std::string& peer, std::uint64_t sequence,
                                std::int64_t now_ns) {
  if (Muted(peer, now_ns)) return;
  Count(Refusal::kNotRegistered);
  if (ignores_unknown_peers_ || !unknown_peers_.insert(peer).second) return;
  Send(peer, Error{Refusal::kNotRegistered, "this connection has no session: say HELLO", sequence},
       sequence);
}

void Replies::AddRefusedActor(RefusedActor actor) {
  RemoveRefusedActor(actor.sender);
  if (refused_actors_.size() == kMostRefusedActors) refused_actors_.pop_front();
  refused_actors_.push_back(std::move(actor));
}

void Replies::RemoveRefusedActor(std::uint64_t sender) {
  std::erase_if(refused_actors_,
                [sender](const RefusedActor& actor) { return actor.sender == sender; });
}

std::vector<Replies::Reply> Replies::PopAll() {
  unknown_peers_.clear();
  return std::exchange(replies_, {});
}

}  // namespace murmurate::wire
