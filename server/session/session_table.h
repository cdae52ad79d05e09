// SessionTable: the senders of a ServerSession, which connection each of them has, and which of
// their agents has which learner-wide index; the room's own business.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/session/credits.h"
#include "server/session/sender.h"

namespace murmurate::wire {

class SessionTable {
 public:
  SessionTable(const ServerSession::Limits& limits, bool resumed, Credits* credits)
      : limits_(limits), resumed_(resumed), credits_(*credits) {}

  void AddModel();
  Senders& senders() { return senders_; }  ///< gone ones too, for their counts
  const Senders& senders() const { return senders_; }
  /// Null: there is none.
  Sender* Find(std::uint64_t id);
  Sender* AtPeer(const std::string& peer);
  /// Sender ids by the connections that have a session.
  const std::unordered_map<std::string, std::uint64_t>& peers() const { return peers_; }

  /// The session of `id` on this connection: the one that it has, or a new one.
  Sender& Enter(const std::string& peer, std::uint64_t id, const Hello& hello);
  /// It plays these models from now on, with the agents that HELLO names.
  void SetModels(Sender& sender, const Hello& hello, const std::vector<std::uint32_t>& models);
  /// `sender`: who says this HELLO, if it has a session; its agents give way to those it names.
  bool HasRoomFor(const Sender* sender, const Hello& hello) const;
  void Hear(Sender& sender, std::int64_t now_ns);
  /// Notes that the agents of this share play.
  void Progress(const Sender& sender, Share& share, std::int64_t now_ns);
  /// Takes back what it has been given and has not played, for others.
  void Stall(Sender& sender);
  /// Ends the session: nothing of it is owed to any peer. What was played stays counted.
  void Leave(Sender& sender);
  void Tick(std::int64_t now_ns);

  /// A sender that played `model` before the learner was resumed, and the indices of its agents by
  /// their numbers, in pairs. False: an index is out of range.
  bool Know(std::uint32_t model, const ServerSession::Position& position,
            std::span<const std::uint64_t> agents);
  void SetOldSteps(std::uint32_t model, std::uint64_t steps, std::uint64_t dropped);

  std::uint64_t EnvironmentSteps(std::uint32_t model) const;
  std::uint64_t DroppedSteps(std::uint32_t model) const;
  std::uint64_t lost_trajectories() const { return lost_trajectories_; }
  /// The counts of senders that are forgotten, by name (ServerSession::Actors).
  const std::map<std::string, ServerSession::ActorReport>& forgotten() const { return forgotten_; }

 private:
  void SetSlots(Share& share, const std::vector<std::uint32_t>& numbers);
  void ReplaceSlots(Share& share, std::vector<AgentSlot> slots);
  void FreeSlots(Share& share);
  void ForgetOldest(std::size_t count);
  void CountForgotten(const Sender& sender);

  const ServerSession::Limits limits_;
  const bool resumed_;
  Credits& credits_;
  Senders senders_;
  std::unordered_map<std::string, std::uint64_t> peers_;
  AgentIndices indices_;
  std::uint64_t sessions_ = 0;
  std::size_t slots_ = 0, former_agents_ = 0;  ///< entries of all Share::slots and Share::former
  std::vector<std::uint64_t> old_steps_, old_dropped_;  ///< by model, of senders forgotten
  std::map<std::string, ServerSession::ActorReport> forgotten_;
  std::uint64_t lost_trajectories_ = 0;
};

}  // namespace murmurate::wire
