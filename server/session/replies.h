// Replies: what a ServerSession has to send, what it has refused, and which peers it does not
// listen to; the room's own business.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <vector>

#include "server/session/reject_ledger.h"
#include "server/session/server_session.h"

namespace murmurate::wire {

class Replies {
 public:
  using Reply = ServerSession::Reply;
  using RefusedActor = ServerSession::RefusedActor;

  explicit Replies(int rejects_per_minute) : rejects_(rejects_per_minute) {}

  void Send(const std::string& peer, Body body, std::uint64_t sequence = 0) {
    replies_.push_back({peer, std::move(body), sequence});
  }
  /// Sends HELLO_OK, in the place of the last one to the same peer that has not left yet.
  void SendHelloOk(const std::string& peer, HelloOk ok, std::uint64_t sequence);
  /// Counts a refusal and, unless the peer is muted, sends it. True: the peer is muted from now on.
  bool Refuse(const std::string& peer, Refusal refusal, std::string sentence,
              std::uint64_t sequence, std::int64_t now_ns);
  /// Many messages may be under way when a session ends: one answer a PopAll is enough.
  void RefuseUnknownPeer(const std::string& peer, std::uint64_t sequence, std::int64_t now_ns);
  /// Counts a refusal that is not answered.
  void Count(Refusal refusal) { ++refusals_[static_cast<int>(refusal)]; }
  /// Peers without a session are not answered any more: the learner leaves.
  void IgnoreUnknownPeers() { ignores_unknown_peers_ = true; }

  bool Muted(const std::string& peer, std::int64_t now_ns) const {
    return rejects_.Muted(peer, now_ns);
  }
  void Forget(const std::string& peer) { rejects_.Forget(peer); }
  void ForgetOld(std::int64_t now_ns) { rejects_.ForgetOld(now_ns); }

  void AddRefusedActor(RefusedActor actor);
  void RemoveRefusedActor(std::uint64_t sender);

  /// Everything to be sent since the last call, in order.
  std::vector<Reply> PopAll();

  const std::deque<RefusedActor>& refused_actors() const { return refused_actors_; }
  const std::array<std::uint64_t, kRefusalCount>& refusals() const { return refusals_; }

 private:
  RejectLedger rejects_;
  std::vector<Reply> replies_;
  std::set<std::string> unknown_peers_;      ///< told so since the last PopAll
  std::deque<RefusedActor> refused_actors_;  ///< the latest last
  std::array<std::uint64_t, kRefusalCount> refusals_{};
  bool ignores_unknown_peers_ = false;
};

}  // namespace murmurate::wire
