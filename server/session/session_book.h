// What a ServerSession is made of; the room's own business.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/session/credit_pool.h"
#include "server/session/reject_ledger.h"
#include "server/session/sender.h"
#include "server/session/server_session.h"

namespace murmurate::wire {

struct ServerSession::Book {
  Book(std::uint64_t incarnation_id, bool was_resumed, std::uint64_t run_seed, Limits given)
      : incarnation(incarnation_id),
        resumed(was_resumed),
        seed(run_seed),
        limits(given),
        rejects(given.rejects_per_minute) {}

  // server_session.cc
  void Refuse(const std::string& peer, Refusal refusal, std::string sentence,
              std::uint64_t sequence, std::int64_t now_ns);
  void RefuseStranger(const std::string& peer, std::uint64_t sequence);
  Sender* Registered(const std::string& peer, const Header& header, std::int64_t now_ns);
  void OnPing(Sender& sender, const Ping& ping, std::int64_t now_ns);
  Verdict Examine(Sender& sender, const Decoded& message, std::int64_t now_ns);
  void Settle(Sender& sender, Share* share, std::uint64_t sequence, std::size_t bytes, bool steps);
  void CountSteps(const Sender& sender, Share& share, const Seat& seat,
                  const Experience& experience, std::int64_t now_ns);
  std::vector<ModelCredit> Credits(const Sender& sender) const;
  void Untell(Sender& sender);
  void Stall(Sender& sender);
  void Progress(const Sender& sender, Share& share, std::int64_t now_ns);

  // session_hello.cc
  void OnHello(const std::string& peer, const Header& header, const Hello& hello, Models& lookup,
               std::int64_t now_ns);
  /// Of a HELLO, with whose it is.
  void RefuseHello(const std::string& peer, const Header& header, const Hello& hello,
                   Refusal refusal, std::string sentence, std::int64_t now_ns);
  bool MayClaim(const std::string& peer, std::uint64_t id, std::int64_t now_ns);
  bool LookUp(const std::string& peer, const Header& header, const Hello& hello, Models& lookup,
              std::vector<std::uint32_t>* models, std::int64_t now_ns);
  Sender& Enter(const std::string& peer, std::uint64_t id, const Hello& hello);
  // session_state.cc
  Status Know(std::uint32_t model, std::span<const std::uint64_t> words);

  void TellCommitted(const Sender& sender, std::uint32_t model);
  void TakeSeats(Share& share, const std::vector<std::uint32_t>& numbers);
  void TakeModels(Sender& sender, const Hello& hello, const std::vector<std::uint32_t>& models);
  HelloOk Welcome(const Sender& sender, const Hello& hello) const;
  void Heard(Sender& sender, std::int64_t now_ns);
  void Leave(Sender& sender);
  void FreeSeats(Share& share);
  void FitBytes(Sender& sender);
  bool HasRoomFor(const Sender* sender, const Hello& hello) const;
  std::size_t ReserveFor(const std::vector<std::uint32_t>& models) const;
  void Touch(Sender& sender);
  void CheckMutes(std::int64_t now_ns);
  void GrantAll(std::int64_t now_ns);
  std::uint64_t EnvironmentSteps(std::uint32_t model) const;
  void Tick(std::int64_t now_ns);
  void ForgetOldest(std::size_t count);

  const std::uint64_t incarnation;
  const bool resumed;
  const std::uint64_t seed;
  const Limits limits;
  std::uint64_t host = 0;
  std::string announce_address, weights_address;
  Settings settings;

  std::deque<CreditPool> pools;                       ///< by the learner's model number
  std::vector<std::uint64_t> old_steps, old_dropped;  ///< by model, of senders forgotten
  std::map<std::uint64_t, Sender> senders;            ///< gone ones too, for their counts
  std::unordered_map<std::string, std::uint64_t> peers;
  AgentIndices indices;
  RejectLedger rejects;
  std::set<std::uint64_t>
      muted;  ///< senders that were muted and are not yet seen to be heard again
  std::uint64_t sessions = 0;
  std::uint64_t reserves = 0, windows = 0;    ///< bytes, over all present
  int present = 0;                            ///< senders not gone
  std::size_t seated = 0, former_agents = 0;  ///< entries of all Share::seats and Share::former
  bool leaving = false, finishing = false;
  std::uint64_t lost_trajectories = 0;
  std::int64_t last_ns = 0;

  std::vector<Reply> replies;
  std::vector<std::uint64_t> untold;
  std::set<std::string> strangers;          ///< told so since the last TakeReplies
  std::deque<RefusedActor> refused_actors;  ///< the latest last
  std::array<std::uint64_t, kRefusalCount> refusals{};
  std::uint64_t duplicates = 0;
};

}  // namespace murmurate::wire
