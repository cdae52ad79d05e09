// EventLog: what ingest tells the log about its actors: joined, left, silent, heard again,
// refused, played wrongly. At most one line a second and peer; what was held back is counted in the
// next line.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/session/server_session.h"

namespace murmurate {

class EventLog {
 public:
  explicit EventLog(LogCallback log) : log_(std::move(log)) {}

  /// The name a peer greeted with, for its later refusals.
  void Name(const std::string& peer, const std::string& actor, std::int64_t now_ns);
  /// Logs an ERROR on its way to a peer. That the peer has no session is logged only when it has
  /// sent without a HELLO for a while, since a client that played for an earlier life of the
  /// learner still sends a little before its HELLO.
  void NoteReply(const wire::ServerSession::Reply& reply, std::int64_t now_ns);
  /// Logs what changed since the last call; call when due().
  void NoteActors(const std::vector<wire::ServerSession::ActorReport>& actors, std::int64_t now_ns);
  /// Logs who waits for whom, at most once a minute for each model; "": none waits.
  void NoteWaiting(const std::string& model, const std::string& sentence, std::int64_t now_ns);
  std::size_t peers() const { return peers_.size(); }
  bool due(std::int64_t now_ns) const { return log_ != nullptr && now_ns >= next_look_ns_; }

 private:
  using Health = wire::ServerSession::ActorReport::Health;
  struct Peer {
    std::string name;
    std::int64_t last_ns = 0;
    std::int64_t next_line_ns = 0;
    std::uint64_t held_back = 0;
    std::int64_t unknown_since_ns = -1;  ///< sends and does not greet
  };
  struct Actor {
    std::string name;
    Health health = Health::kLive;
    bool seen = false;
    std::set<std::string> troubles = {};  ///< that were told, without how many agents have them
  };

  Peer& Find(const std::string& peer, std::int64_t now_ns);
  void NoteChange(const Actor& known, const wire::ServerSession::ActorReport& now);
  void NoteTroubles(Actor* known, const wire::ServerSession::ActorReport& now);
  /// Whether the peer has no session, and has not had the time to get one.
  static bool IsGreeting(const wire::Error& error, Peer* peer, std::int64_t now_ns);

  LogCallback log_;
  std::map<std::string, Peer> peers_;
  std::map<std::uint64_t, Actor> actors_;  ///< by sender
  std::map<std::string, std::int64_t> next_waiting_line_ns_;
  std::int64_t next_look_ns_ = 0;
};

/// "4.1 s"
std::string SecondsInWords(std::int64_t ns);

}  // namespace murmurate
