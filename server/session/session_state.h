// ServerSession::State: the table of a session's senders, their credits and the replies to them,
// and what it does with the messages that concern all three; the room's own business.
#pragma once

#include <string>
#include <vector>

#include "server/session/credits.h"
#include "server/session/replies.h"
#include "server/session/server_session.h"
#include "server/session/session_table.h"

namespace murmurate::wire {

struct ServerSession::State {
  State(std::uint64_t incarnation_id, bool was_resumed, std::uint64_t run_seed, Limits given)
      : incarnation(incarnation_id),
        resumed(was_resumed),
        seed(run_seed),
        limits(given),
        replies(given.rejects_per_minute),
        credits(given.ingest_budget_bytes),
        table(given, was_resumed, &credits) {}

  // server_session.cc
  void Refuse(const std::string& peer, Refusal refusal, std::string sentence,
              std::uint64_t sequence, std::int64_t now_ns);
  Sender* Registered(const std::string& peer, const Header& header, std::int64_t now_ns);
  void OnPing(Sender& sender, const Ping& ping, std::int64_t now_ns);
  Verdict Examine(Sender& sender, const Decoded& message, std::int64_t now_ns);
  void SendToAll(const Body& body);
  void SendCommitted(const Sender& sender, std::uint32_t model);

  // session_hello.cc
  void OnHello(const std::string& peer, const Header& header, const Hello& hello, Models& lookup,
               std::int64_t now_ns);
  /// Refuses a HELLO and remembers whose it was.
  void RefuseHello(const std::string& peer, const Header& header, const Hello& hello,
                   Refusal refusal, std::string sentence, std::int64_t now_ns);
  bool MayClaim(const std::string& peer, std::uint64_t id, std::int64_t now_ns);
  bool LookUp(const std::string& peer, const Header& header, const Hello& hello, Models& lookup,
              std::vector<std::uint32_t>* models, std::int64_t now_ns);
  HelloOk Welcome(const Sender& sender) const;

  const std::uint64_t incarnation;
  const bool resumed;
  const std::uint64_t seed;
  const Limits limits;
  std::uint64_t host = 0;
  std::string announce_address, weights_address;
  Settings settings;
  Replies replies;
  Credits credits;
  SessionTable table;
  bool leaving = false;
  std::int64_t last_ns = 0;
  std::uint64_t duplicates = 0;
};

}  // namespace murmurate::wire
